/* Records what a process does to the files below a folder; loaded with LD_PRELOAD by the test `power`.
 *
 * Law: under one lock, first the call itself, then its entry in the log, so that the log has the order of the calls.
 * An entry: one byte of kind; inode, number (8 bytes each); lengths of first path, second path and data (4 bytes
 * each); then these. All numbers are in the order of the machine. Written memory of mappings is not seen.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

enum { CREATE = 1, WRITE, TRUNCATE, RENAME, LINK, UNLINK, MKDIR, RMDIR, SYNC, SYNC_ALL };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *folder;
static int output = -1;

__attribute__((constructor)) static void begin(void) {
    const char *name = getenv("HEADWATER_RECORD_LOG");
    folder = getenv("HEADWATER_RECORD_FOLDER");
    if (name && folder)
        output = syscall(SYS_openat, AT_FDCWD, name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
}

#define REAL(type, name) \
    static type real; \
    if (!real) real = (type)dlsym(RTLD_NEXT, name)

static int inside(const char *path) {
    size_t length;
    if (output < 0 || !path) return 0;
    length = strlen(folder);
    return strncmp(path, folder, length) == 0 && (path[length] == '/' || path[length] == 0);
}

static void put(const void *bytes, size_t count) {
    const char *at = bytes;
    while (count > 0) {
        long done = syscall(SYS_write, output, at, count);
        if (done <= 0) abort();
        at += done;
        count -= done;
    }
}

static void entry(uint8_t kind, uint64_t inode, uint64_t number, const char *first, const char *second,
                  const void *data, uint32_t count) {
    int before = errno;
    uint32_t lengths[3] = {first ? strlen(first) : 0, second ? strlen(second) : 0, count};
    put(&kind, 1);
    put(&inode, 8);
    put(&number, 8);
    put(lengths, sizeof lengths);
    put(first, lengths[0]);
    put(second, lengths[1]);
    put(data, count);
    errno = before;
}

/* The path of what is open; 0 where it is outside of the folder. */
static int path_of(int file, char *path) {
    char link[64];
    ssize_t length;
    if (output < 0 || file == output) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    length = readlink(link, path, PATH_MAX - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return inside(path);
}

static int place(int at, const char *name, char *path) {
    if (name[0] == '/') {
        snprintf(path, PATH_MAX, "%s", name);
        return inside(path);
    }
    if (at == AT_FDCWD || !path_of(at, path)) return 0;
    size_t length = strlen(path);
    snprintf(path + length, PATH_MAX - length, "/%s", name);
    return 1;
}

static uint64_t inode_of(int file) {
    struct stat found;
    return fstat(file, &found) == 0 ? found.st_ino : 0;
}

static int opened(int at, const char *name, int flags, mode_t mode) {
    char path[PATH_MAX];
    int file;
    if (output < 0 || !place(at, name, path)) return syscall(SYS_openat, at, name, flags, mode);
    pthread_mutex_lock(&lock);
    int was_there = faccessat(at, name, F_OK, 0) == 0;
    file = syscall(SYS_openat, at, name, flags, mode);
    if (file >= 0 && (flags & O_CREAT) && !was_there)
        entry(CREATE, inode_of(file), 0, path, NULL, NULL, 0);
    else if (file >= 0 && (flags & O_TRUNC))
        entry(TRUNCATE, inode_of(file), 0, path, NULL, NULL, 0);
    pthread_mutex_unlock(&lock);
    return file;
}

#define MODE(last) \
    mode_t mode = 0; \
    if (flags & (O_CREAT | __O_TMPFILE)) { \
        va_list rest; \
        va_start(rest, last); \
        mode = va_arg(rest, mode_t); \
        va_end(rest); \
    }

int open(const char *name, int flags, ...) { MODE(flags) return opened(AT_FDCWD, name, flags, mode); }
int open64(const char *name, int flags, ...) { MODE(flags) return opened(AT_FDCWD, name, flags | O_LARGEFILE, mode); }
int openat(int at, const char *name, int flags, ...) { MODE(flags) return opened(at, name, flags, mode); }
int openat64(int at, const char *name, int flags, ...) { MODE(flags) return opened(at, name, flags | O_LARGEFILE, mode); }

static ssize_t written(int file, const void *data, size_t count, int has_offset, off_t offset) {
    char path[PATH_MAX];
    ssize_t done;
    int recorded = path_of(file, path);
    if (recorded) pthread_mutex_lock(&lock);
    if (recorded && !has_offset) {
        struct stat found;
        int appends = fcntl(file, F_GETFL) & O_APPEND;
        offset = appends && fstat(file, &found) == 0 ? found.st_size : lseek(file, 0, SEEK_CUR);
    }
    done = has_offset ? syscall(SYS_pwrite64, file, data, count, offset) : syscall(SYS_write, file, data, count);
    if (recorded) {
        if (done > 0) entry(WRITE, inode_of(file), offset, path, NULL, data, done);
        pthread_mutex_unlock(&lock);
    }
    return done;
}

ssize_t write(int file, const void *data, size_t count) { return written(file, data, count, 0, 0); }
ssize_t pwrite(int file, const void *data, size_t count, off_t at) { return written(file, data, count, 1, at); }
ssize_t pwrite64(int file, const void *data, size_t count, off_t at) { return written(file, data, count, 1, at); }

int ftruncate(int file, off_t length) {
    char path[PATH_MAX];
    int recorded = path_of(file, path);
    if (recorded) pthread_mutex_lock(&lock);
    int answer = syscall(SYS_ftruncate, file, length);
    if (recorded) {
        if (answer == 0) entry(TRUNCATE, inode_of(file), length, path, NULL, NULL, 0);
        pthread_mutex_unlock(&lock);
    }
    return answer;
}
int ftruncate64(int file, off_t length) { return ftruncate(file, length); }

static int named(uint8_t kind, int at, const char *name, int other, const char *second, int flags) {
    char path[PATH_MAX], target[PATH_MAX] = "";
    int answer, recorded = place(at, name, path);
    if (second) recorded |= place(other, second, target);
    if (recorded) pthread_mutex_lock(&lock);
    switch (kind) {
    case RENAME: answer = syscall(SYS_renameat2, at, name, other, second, flags); break;
    case LINK: answer = syscall(SYS_linkat, at, name, other, second, flags); break;
    case MKDIR: answer = syscall(SYS_mkdirat, at, name, flags); break;
    default: answer = syscall(SYS_unlinkat, at, name, flags);
    }
    if (recorded) {
        if (answer == 0) entry(kind, 0, 0, path, target, NULL, 0);
        pthread_mutex_unlock(&lock);
    }
    return answer;
}

int rename(const char *a, const char *b) { return named(RENAME, AT_FDCWD, a, AT_FDCWD, b, 0); }
int renameat(int x, const char *a, int y, const char *b) { return named(RENAME, x, a, y, b, 0); }
int link(const char *a, const char *b) { return named(LINK, AT_FDCWD, a, AT_FDCWD, b, 0); }
int linkat(int x, const char *a, int y, const char *b, int flags) { return named(LINK, x, a, y, b, flags); }
int unlink(const char *a) { return named(UNLINK, AT_FDCWD, a, 0, NULL, 0); }
int rmdir(const char *a) { return named(RMDIR, AT_FDCWD, a, 0, NULL, AT_REMOVEDIR); }
int unlinkat(int x, const char *a, int flags) {
    return named(flags & AT_REMOVEDIR ? RMDIR : UNLINK, x, a, 0, NULL, flags);
}
int mkdir(const char *a, mode_t mode) { return named(MKDIR, AT_FDCWD, a, 0, NULL, mode); }
int mkdirat(int x, const char *a, mode_t mode) { return named(MKDIR, x, a, 0, NULL, mode); }

static int synchronised(int file, long call, uint8_t kind) {
    char path[PATH_MAX];
    int recorded = path_of(file, path);
    if (recorded) pthread_mutex_lock(&lock);
    int answer = syscall(call, file);
    if (recorded) {
        if (answer == 0) entry(kind, inode_of(file), 0, path, NULL, NULL, 0);
        pthread_mutex_unlock(&lock);
    }
    return answer;
}

int fsync(int file) { return synchronised(file, SYS_fsync, SYNC); }
int fdatasync(int file) { return synchronised(file, SYS_fdatasync, SYNC); }
int syncfs(int file) { return synchronised(file, SYS_syncfs, SYNC_ALL); }
