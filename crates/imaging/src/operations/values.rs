//! Values of the engine as views, and planes as values.
//!
//! Law: an image value is height × width × channels of bytes (grey, or red, green and blue), or of 16-bit numbers (grey:
//! labels). A mask is a grey image; a colour image whose three channels are equal is taken for a grey one.

use std::borrow::Cow;
use std::sync::Arc;

use headwater_graph::{Array, ElementType, Image, OperationError, Value};

use super::Call;
use crate::files::{Picture, read_image, write_png};
use crate::nuclei::Status;
use crate::{Bitmap, Colour, Plane, View, objects_of};

/// An image that came as it is, or was made of something else.
pub(super) struct Pixels<'a, T: Copy> {
    width: usize,
    height: usize,
    pixels: Cow<'a, [T]>,
}

impl<'a, T: Copy> Pixels<'a, T> {
    /// `None` when an image may not be so large.
    fn new(width: usize, height: usize, pixels: Cow<'a, [T]>) -> Option<Pixels<'a, T>> {
        View::new(width, height, &pixels)?;
        Some(Pixels {
            width,
            height,
            pixels,
        })
    }

    /// Its pixels.
    pub(super) fn view(&self) -> View<'_, T> {
        View::new(self.width, self.height, &self.pixels).expect("was tried when it was made")
    }
}

impl<'a> Call<'a> {
    fn wrong(name: &str, message: String) -> OperationError {
        OperationError::Input {
            port: name.to_owned(),
            message,
        }
    }

    fn image(&self, name: &str) -> Result<&'a Image, OperationError> {
        match self.input(name) {
            Value::Image(image) => Ok(image),
            other => {
                let found = other.value_type();
                Err(Self::wrong(
                    name,
                    format!("expected an image, found {found}"),
                ))
            }
        }
    }

    /// A colour image; a grey one is a colour image without colours.
    pub(super) fn colour(&self, name: &str) -> Result<Pixels<'a, Colour>, OperationError> {
        let image = self.image(name)?;
        let bytes = image.array.bytes();
        let found = match (extents(image), image.array.element_type()) {
            (Some((width, height, 3)), ElementType::U8) => {
                Pixels::new(width, height, Cow::Borrowed(bytes.as_chunks::<3>().0))
            }
            (Some((width, height, 1)), ElementType::U8) => {
                let pixels = bytes.iter().map(|grey| [*grey; 3]).collect();
                Pixels::new(width, height, pixels)
            }
            _ => None,
        };
        found.ok_or_else(|| {
            let found = describe(image);
            Self::wrong(
                name,
                format!("expected a colour image of 8 bits, found {found}"),
            )
        })
    }

    /// A grey image.
    pub(super) fn grey(&self, name: &str) -> Result<View<'a, u8>, OperationError> {
        let image = self.image(name)?;
        if let (Some((width, height, 1)), ElementType::U8) =
            (extents(image), image.array.element_type())
            && let Some(view) = View::new(width, height, image.array.bytes())
        {
            return Ok(view);
        }
        let found = describe(image);
        let message = format!("expected a grey image of 8 bits, found {found}");
        Err(Self::wrong(name, message))
    }

    /// A binary image: what is not zero is set. Labels and grey stored as colour will do.
    pub(super) fn mask(&self, name: &str) -> Result<Pixels<'a, u8>, OperationError> {
        let image = self.image(name)?;
        let found = match (extents(image), image.array.element_type()) {
            (Some((width, height, 1)), ElementType::U8) => {
                Pixels::new(width, height, Cow::Borrowed(image.array.bytes()))
            }
            _ => labels_of(image).and_then(|labels| {
                let pixels = labels.pixels().iter();
                let mask = pixels.map(|label| if *label == 0 { 0 } else { 255 });
                Pixels::new(labels.width(), labels.height(), mask.collect())
            }),
        };
        found.ok_or_else(|| {
            let found = describe(image);
            Self::wrong(
                name,
                format!("expected a mask (a grey image), found {found}"),
            )
        })
    }

    /// Labels: those of an image of labels, or the components of a mask, which has one value besides 0.
    pub(super) fn labels(&self, name: &str) -> Result<Plane<u32>, OperationError> {
        let image = self.image(name)?;
        let labels = labels_of(image).ok_or_else(|| {
            let found = describe(image);
            Self::wrong(name, format!("expected a mask or labels, found {found}"))
        })?;
        let mut set = labels.pixels().iter().filter(|label| **label != 0);
        let first = set.next();
        if image.array.element_type() == ElementType::U8 && set.all(|label| Some(label) == first) {
            return Ok(objects_of(self.mask(name)?.view()));
        }
        Ok(labels)
    }

    /// A status.
    pub(super) fn status(&self, name: &str) -> Result<Status, OperationError> {
        match self.input(name) {
            Value::Int(code) => Status::from_code(*code).ok_or_else(|| {
                Self::wrong(name, format!("expected a status from 0 to 3, found {code}"))
            }),
            other => {
                let found = other.value_type();
                Err(Self::wrong(
                    name,
                    format!("expected a status, found {found}"),
                ))
            }
        }
    }

    /// An error that says that two images are of different sizes, if they are.
    pub(super) fn same_size<T, U>(
        &self,
        (one_name, one): (&str, View<'_, T>),
        (name, other): (&str, View<'_, U>),
    ) -> Result<(), OperationError> {
        if (one.width(), one.height()) == (other.width(), other.height()) {
            return Ok(());
        }
        let message = format!(
            "is {} × {} pixels and `{one_name}` is {} × {}; expected images of one size",
            other.width(),
            other.height(),
            one.width(),
            one.height()
        );
        Err(Self::wrong(name, message))
    }
}

/// Width, height and channels.
fn extents(image: &Image) -> Option<(usize, usize, usize)> {
    match image.array.shape() {
        [height, width, channels] => Some((
            usize::try_from(*width).ok()?,
            usize::try_from(*height).ok()?,
            usize::try_from(*channels).ok()?,
        )),
        _ => None,
    }
}

fn describe(image: &Image) -> String {
    let element = format!("{:?}", image.array.element_type()).to_lowercase();
    let shape = image.array.shape();
    format!("{} of shape {shape:?} and type {element}", image.channels)
}

/// The numbers of a grey image, or of a colour image whose channels are equal.
fn labels_of(image: &Image) -> Option<Plane<u32>> {
    let (width, height, channels) = extents(image)?;
    let bytes = image.array.bytes();
    let pixels = match (image.array.element_type(), channels) {
        (ElementType::U8, 1) => bytes.iter().copied().map(u32::from).collect(),
        (ElementType::U16, 1) => {
            let (pairs, _) = bytes.as_chunks::<2>();
            let numbers = pairs
                .iter()
                .map(|pair| u32::from(u16::from_le_bytes(*pair)));
            numbers.collect()
        }
        (ElementType::U8, 3) => {
            let (colours, _) = bytes.as_chunks::<3>();
            let grey = |[red, green, blue]: &Colour| {
                (red == green && green == blue).then_some(u32::from(*red))
            };
            colours.iter().map(grey).collect::<Option<Vec<u32>>>()?
        }
        _ => return None,
    };
    Plane::new(width, height, pixels)
}

fn image_value(
    element_type: ElementType,
    (width, height): (usize, usize),
    channels: &str,
    bytes: &[u8],
) -> Result<Value, OperationError> {
    let depth = if channels == "rgb" { 3 } else { 1 };
    let shape = [height as u64, width as u64, depth];
    let array = Array::new(element_type, &shape, bytes);
    let array = array.ok_or_else(|| {
        OperationError::Failed(format!("an image of {width} × {height} is too large"))
    })?;
    Ok(Value::Image(Arc::new(Image {
        array,
        channels: channels.into(),
    })))
}

/// A grey image, or a mask.
pub fn grey_value(view: View<'_, u8>) -> Result<Value, OperationError> {
    let size = (view.width(), view.height());
    image_value(ElementType::U8, size, "grey", view.pixels())
}

/// A colour image.
pub fn colour_value(view: View<'_, Colour>) -> Result<Value, OperationError> {
    let size = (view.width(), view.height());
    image_value(ElementType::U8, size, "rgb", view.pixels().as_flattened())
}

/// An image without a set pixel.
pub(super) fn empty_value(size: (usize, usize)) -> Result<Value, OperationError> {
    mask_of(size, |_| {})
}

/// A binary image.
pub(super) fn mask_value(mask: &Bitmap) -> Result<Value, OperationError> {
    let (width, height) = (mask.width(), mask.height());
    mask_of((width, height), |pixels| {
        for y in 0..height {
            mask.unpack_row(y, &mut pixels[y * width..][..width]);
        }
    })
}

/// A grey image that `fill` makes of zeros.
fn mask_of(
    (width, height): (usize, usize),
    fill: impl FnOnce(&mut [u8]),
) -> Result<Value, OperationError> {
    let shape = [height as u64, width as u64, 1];
    let array = Array::build(ElementType::U8, &shape, fill);
    let array = array.ok_or_else(|| {
        OperationError::Failed(format!("an image of {width} × {height} is too large"))
    })?;
    Ok(Value::Image(Arc::new(Image {
        array,
        channels: "grey".into(),
    })))
}

/// The image of a file's bytes.
pub(super) fn decode(bytes: &[u8]) -> Result<Value, OperationError> {
    let picture = read_image(bytes).map_err(|error| OperationError::Failed(error.to_string()))?;
    picture_value(&picture)
}

/// A picture as a value.
pub(super) fn picture_value(picture: &Picture) -> Result<Value, OperationError> {
    match picture {
        Picture::Grey(plane) => grey_value(plane.view()),
        Picture::Colour(plane) => colour_value(plane.view()),
        Picture::Deep(plane) => {
            let bytes: Vec<u8> = plane
                .pixels()
                .iter()
                .flat_map(|p| p.to_le_bytes())
                .collect();
            let size = (plane.width(), plane.height());
            image_value(ElementType::U16, size, "grey", &bytes)
        }
    }
}

/// The bytes of a PNG file; [`OperationError::Input`] for images that PNG has no room for.
pub(super) fn encode(value: &Value) -> Result<Vec<u8>, OperationError> {
    let failed = |message: String| OperationError::Failed(message);
    let Value::Image(image) = value else {
        let found = value.value_type();
        return Err(failed(format!("expected an image, found {found}")));
    };
    let bytes = image.array.bytes();
    let made = match (extents(image), image.array.element_type()) {
        (Some((width, height, 1)), ElementType::U8) => {
            View::new(width, height, bytes).map(write_png)
        }
        (Some((width, height, 3)), ElementType::U8) => {
            View::new(width, height, bytes.as_chunks::<3>().0).map(write_png)
        }
        (Some((width, height, 1)), ElementType::U16) => {
            let (pairs, _) = bytes.as_chunks::<2>();
            let numbers: Vec<u16> = pairs.iter().map(|pair| u16::from_le_bytes(*pair)).collect();
            View::new(width, height, &numbers).map(write_png)
        }
        _ => None,
    };
    // PNG has no room for it: the engine writes its own encoding then.
    made.ok_or_else(|| OperationError::Input {
        port: "image".to_owned(),
        message: format!("{} cannot be written as PNG", describe(image)),
    })?
    .map_err(|error| failed(error.to_string()))
}
