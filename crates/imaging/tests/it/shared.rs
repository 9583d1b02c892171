//! Where the reference data lies, if it is there.

use std::path::{Path, PathBuf};

use headwater_imaging::{Colour, Plane};

/// A folder of the shared data; says so, and gives nothing, where there is none.
pub(crate) fn shared(below: &str) -> Option<PathBuf> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = workspace.join("../shared").join(below);
    if folder.exists() {
        return Some(folder);
    }
    println!("skipped: the shared data `{below}` is not here");
    None
}

/// A colour image of a PNG file.
pub(crate) fn colour(path: &Path) -> Plane<Colour> {
    let image = image::open(path).unwrap().to_rgb8();
    let (width, height) = (image.width() as usize, image.height() as usize);
    let (pixels, rest) = image.as_raw().as_chunks::<3>();
    assert!(rest.is_empty());
    Plane::new(width, height, pixels.to_vec()).unwrap()
}

/// A grey image of a PNG file.
pub(crate) fn grey(path: &Path) -> Plane<u8> {
    let image = image::open(path).unwrap().to_luma8();
    let (width, height) = (image.width() as usize, image.height() as usize);
    Plane::new(width, height, image.into_raw()).unwrap()
}
