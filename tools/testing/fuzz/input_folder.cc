#include "tools/testing/fuzz/input_folder.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

class Folder {
 public:
  Folder() : path_(absl::StrCat("/dev/shm/regard-fuzz-", getpid())) {
    std::filesystem::create_directories(path_);
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

}  // namespace

const std::string& InputFolder() {
  static const Folder folder;
  return folder.path();
}

std::string WriteInput(absl::string_view name, absl::string_view bytes) {
  const std::string path = absl::StrCat(InputFolder(), "/", name);
  std::filesystem::create_directories(
      std::filesystem::path(path).parent_path());
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  REGARD_CHECK(file != nullptr) << path;
  REGARD_CHECK_EQ(std::fwrite(bytes.data(), 1, bytes.size(), file),
                  bytes.size());
  REGARD_CHECK_EQ(std::fclose(file), 0);
  return path;
}

}  // namespace regard
