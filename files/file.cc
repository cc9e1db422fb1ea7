#include "files/file.h"

#include <dirent.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {
namespace {

std::string Parent(const std::string& path) {
  const std::filesystem::path parent =
      std::filesystem::path(path).parent_path();
  return parent.empty() ? "." : parent.string();
}

// Repeats `call` while signals interrupt it, and returns its result.
template <typename Call>
auto Uninterrupted(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

FileOperations* replaced_system_files = nullptr;

}  // namespace

FileOperations& SystemFiles() {
  static FileOperations files;
  return replaced_system_files == nullptr ? files : *replaced_system_files;
}

void ReplaceSystemFilesForTest(FileOperations& files) {
  replaced_system_files = &files;
}

absl::Status FileError(const std::string& path, absl::string_view action,
                       int error) {
  const absl::Status status =
      absl::ErrnoToStatus(error, absl::StrCat(path, ": cannot ", action));
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return absl::NotFoundError(status.message());
    case EISDIR:
    case ELOOP:
    case ENAMETOOLONG:
      return absl::FailedPreconditionError(status.message());
    default:
      return IsMachineFailure(status)
                 ? status
                 : absl::UnavailableError(status.message());
  }
}

absl::Status WriteError(const std::string& path, absl::string_view action,
                        int error) {
  const absl::Status status = FileError(path, action, error);
  return error == ELOOP || IsMachineFailure(status)
             ? status
             : absl::UnavailableError(status.message());
}

bool IsMachineFailure(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kAborted:  // ESTALE
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kUnavailable:
    // kUnknown is the code of EIO, and of each errno that has no other code.
    case absl::StatusCode::kUnknown:
      return true;
    default:
      return false;
  }
}

Descriptor::Descriptor(const std::string& path, int flags,
                       FileOperations& files)
    : number_(Uninterrupted([&] { return files.Open(path, flags); })),
      files_(files) {}

absl::StatusOr<RandomAccessFile> RandomAccessFile::Open(const std::string& path,
                                                        FileOperations& files) {
  // Without O_NONBLOCK, opening a pipe would wait for a writer.
  RandomAccessFile reader(path, Descriptor(path, O_RDONLY | O_NONBLOCK, files));
  struct stat info;
  if (reader.descriptor_.number() < 0 ||
      fstat(reader.descriptor_.number(), &info) != 0) {
    return FileError(path, "open", errno);
  }
  if (S_ISDIR(info.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": is a directory, not a file"));
  }
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": is not a regular file"));
  }
  reader.size_ = info.st_size;
  reader.identity_ = {info.st_dev, info.st_ino};
  return reader;
}

absl::Status RandomAccessFile::ReadAt(int64_t offset,
                                      absl::Span<char> bytes) const {
  while (!bytes.empty()) {
    const ssize_t count = Uninterrupted([&] {
      return descriptor_.files().ReadAt(descriptor_.number(), bytes.data(),
                                        bytes.size(), offset);
    });
    if (count < 0) return FileError(path_, "read", errno);
    if (count == 0) {
      return absl::DataLossError(absl::StrCat(
          path_, ": ends at byte ", offset, ", but ", bytes.size(),
          " more bytes are required; the file may have been cut short"));
    }
    bytes.remove_prefix(count);
    offset += count;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadFile(const std::string& path, int64_t limit,
                                     FileOperations& files) {
  REGARD_ASSIGN_OR_RETURN(const RandomAccessFile reader,
                          RandomAccessFile::Open(path, files));
  if (reader.size() > limit) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": has ", reader.size(), " bytes; at most ", limit,
                     " are allowed"));
  }
  std::string bytes(reader.size(), '\0');
  REGARD_RETURN_IF_ERROR(reader.ReadAt(0, absl::MakeSpan(bytes)));
  return bytes;
}

std::string ErrorInText(absl::string_view path, absl::string_view text,
                        size_t offset, absl::string_view problem,
                        int64_t first_line) {
  const absl::string_view before = text.substr(0, offset);
  const auto line = first_line + std::count(before.begin(), before.end(), '\n');
  // If there is no earlier newline, rfind() returns npos, and npos + 1 is 0.
  const size_t line_begin = before.rfind('\n') + 1;
  return absl::StrCat(path, ":", line, ":", before.size() - line_begin + 1,
                      ": error: ", problem);
}

absl::Status EnsureErrorPrefix(const absl::Status& status) {
  if (status.ok() || absl::StrContains(status.message(), "error: ")) {
    return status;
  }
  return absl::Status(status.code(), absl::StrCat("error: ", status.message()));
}

absl::Status WriteFileAtomically(
    const std::string& path, FileOperations& files,
    absl::FunctionRef<absl::Status(FileWriter&)> write) {
  // Rejects devices and pipes, because the rename would replace them with a
  // file.
  struct stat there;
  if (stat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(
        path,
        ": already exists and is not a regular file; choose another path"));
  }
  const std::string sibling = absl::StrCat(path, ".tmp-", getpid());
  const absl::Status written = [&] {
    REGARD_ASSIGN_OR_RETURN(FileWriter writer,
                            FileWriter::Create(sibling, files));
    REGARD_RETURN_IF_ERROR(write(writer));
    REGARD_RETURN_IF_ERROR(writer.Finish());
    return RenameFile(sibling, path, files);
  }();
  if (!written.ok()) {
    files.Remove(sibling);
    // Replaces the name of the temporary file with the path that the user
    // knows.
    return absl::Status(written.code(), absl::StrReplaceAll(written.message(),
                                                            {{sibling, path}}));
  }
  return SyncDirectory(Parent(path), files);
}

absl::Status WriteFileAtomically(const std::string& path,
                                 absl::string_view bytes,
                                 FileOperations& files) {
  return WriteFileAtomically(
      path, files, [&](FileWriter& writer) { return writer.Append(bytes); });
}

absl::Status ReplaceLink(const std::string& path, const std::string& target,
                         FileOperations& files) {
  const std::string sibling = absl::StrCat(path, ".tmp-", getpid());
  // A killed process with the same process ID may have left a temporary file of
  // this name.
  files.Remove(sibling);
  if (files.MakeLink(target, sibling) != 0) {
    return WriteError(path, "make a link", errno);
  }
  if (files.Rename(sibling, path) == 0) return absl::OkStatus();
  const int error = errno;
  files.Remove(sibling);
  return WriteError(path, "replace the link", error);
}

absl::StatusOr<FileWriter> FileWriter::Create(const std::string& path,
                                              FileOperations& files) {
  Descriptor descriptor(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, files);
  if (descriptor.number() < 0) return WriteError(path, "create", errno);
  return FileWriter(path, std::move(descriptor), 0);
}

absl::StatusOr<FileWriter> FileWriter::Resume(const std::string& path,
                                              int64_t bytes,
                                              FileOperations& files) {
  Descriptor descriptor(path, O_WRONLY | O_NOFOLLOW, files);
  if (descriptor.number() < 0) return WriteError(path, "open", errno);
  if (Uninterrupted(
          [&] { return files.Truncate(descriptor.number(), bytes); }) != 0) {
    return WriteError(path, "shorten", errno);
  }
  return FileWriter(path, std::move(descriptor), bytes);
}

absl::Status FileWriter::Append(absl::string_view bytes) {
  FileOperations& files = descriptor_.files();
  int64_t end = size_;
  while (!bytes.empty()) {
    const ssize_t count = Uninterrupted([&] {
      return files.WriteAt(descriptor_.number(), bytes.data(), bytes.size(),
                           end);
    });
    if (count <= 0) {
      const int error = count < 0 ? errno : ENOSPC;
      // Removes the partial write. If that fails, the next write overwrites it.
      files.Truncate(descriptor_.number(), size_);
      return WriteError(path_, "write", error);
    }
    bytes.remove_prefix(count);
    end += count;
  }
  size_ = end;
  return absl::OkStatus();
}

absl::Status FileWriter::Sync() {
  if (Uninterrupted([&] {
        return descriptor_.files().Sync(descriptor_.number());
      }) != 0) {
    return WriteError(path_, "sync", errno);
  }
  return absl::OkStatus();
}

absl::Status FileWriter::Finish() {
  REGARD_RETURN_IF_ERROR(Sync());
  // Network file systems report a full disk only here. The descriptor is closed
  // even after EINTR.
  if (descriptor_.Close() != 0 && errno != EINTR) {
    return WriteError(path_, "close", errno);
  }
  return absl::OkStatus();
}

absl::Status SyncDirectory(const std::string& path, FileOperations& files) {
  const Descriptor folder(path, O_RDONLY | O_DIRECTORY, files);
  if (folder.number() < 0) return WriteError(path, "open", errno);
  // Some file systems cannot sync a directory and return EINVAL.
  if (Uninterrupted([&] { return files.Sync(folder.number()); }) != 0 &&
      errno != EINVAL) {
    return WriteError(path, "sync", errno);
  }
  return absl::OkStatus();
}

absl::Status MakeDirectories(const std::string& path, FileOperations& files) {
  struct stat info;
  if (stat(path.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat(
        path, ": already exists and is not a directory; choose another path"));
  }
  const std::string parent = Parent(path);
  if (parent != path) REGARD_RETURN_IF_ERROR(MakeDirectories(parent, files));
  if (files.MakeDirectory(path) != 0 && errno != EEXIST) {
    return WriteError(path, "create the directory", errno);
  }
  return absl::OkStatus();
}

absl::Status RenameFile(const std::string& from, const std::string& to,
                        FileOperations& files) {
  if (files.Rename(from, to) == 0) return absl::OkStatus();
  const int error = errno;
  return WriteError(from, absl::StrCat("rename to ", to), error);
}

absl::Status RemoveTree(const std::string& path, FileOperations& files) {
  REGARD_ASSIGN_OR_RETURN(const PathKind kind, KindOfPath(path, files));
  if (kind == PathKind::kDirectory) {
    REGARD_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                            ListDirectory(path, files));
    for (const std::string& name : names) {
      REGARD_RETURN_IF_ERROR(RemoveTree(JoinPath(path, name), files));
    }
  }
  if (files.Remove(path) == 0 || errno == ENOENT) return absl::OkStatus();
  return WriteError(path, "remove", errno);
}

absl::StatusOr<std::vector<std::string>> ListDirectory(const std::string& path,
                                                       FileOperations& files) {
  Descriptor folder(path, O_RDONLY | O_DIRECTORY, files);
  if (folder.number() < 0) return FileError(path, "list", errno);
  DIR* const directory = fdopendir(folder.number());
  if (directory == nullptr) return FileError(path, "list", errno);
  folder.Release();
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* const entry = readdir(directory)) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
    errno = 0;
  }
  const int error = errno;
  closedir(directory);
  if (error != 0) return FileError(path, "list", error);
  std::sort(names.begin(), names.end());
  return names;
}

absl::StatusOr<PathKind> KindOfPath(const std::string& path,
                                    FileOperations& files) {
  struct stat info;
  if (files.Status(path, &info) != 0) {
    const absl::Status error = FileError(path, "access it", errno);
    if (absl::IsNotFound(error)) return PathKind::kNothing;
    return error;
  }
  if (S_ISREG(info.st_mode)) return PathKind::kFile;
  if (S_ISDIR(info.st_mode)) return PathKind::kDirectory;
  if (S_ISLNK(info.st_mode)) return PathKind::kLink;
  return PathKind::kOther;
}

bool IsDirectory(const std::string& path) {
  return KindOfPath(path).value_or(PathKind::kNothing) == PathKind::kDirectory;
}

bool PathExists(const std::string& path) {
  return KindOfPath(path).value_or(PathKind::kOther) != PathKind::kNothing;
}

std::string ResolveUserPath(absl::string_view path) {
  const char* working = std::getenv("BUILD_WORKING_DIRECTORY");
  if (path.empty() || path.front() == '/' || working == nullptr ||
      *working == '\0') {
    return std::string(path);
  }
  return JoinPath(working, path);
}

std::string JoinPath(absl::string_view folder, absl::string_view name) {
  if (folder.empty() || folder.back() == '/') return absl::StrCat(folder, name);
  return absl::StrCat(folder, "/", name);
}

int FileOperations::CreateUnnamed() {
  const char* const folder = std::getenv("TMPDIR");
  std::string path = JoinPath(
      folder == nullptr || *folder == '\0' ? "/tmp" : folder, "regard-XXXXXX");
  const int descriptor = mkostemp(path.data(), O_CLOEXEC);
  if (descriptor >= 0) unlink(path.c_str());
  return descriptor;
}

}  // namespace regard
