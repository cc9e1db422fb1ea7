// A fresh directory with files, and control of their permissions, for tests.
#ifndef FILES_TESTING_TEMPORARY_FILES_H_
#define FILES_TESTING_TEMPORARY_FILES_H_

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"

namespace regard::testing {

// Makes a fresh directory. User paths are relative to it, so that tests can
// name files as a user would.
class TemporaryFilesTest : public ::testing::Test {
 protected:
  TemporaryFilesTest() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    directory_ = absl::StrCat(::testing::TempDir(), "/",
                              test->test_suite_name(), ".", test->name());
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
    setenv("BUILD_WORKING_DIRECTORY", directory_.c_str(), /*overwrite=*/1);
  }
  ~TemporaryFilesTest() override {
    unsetenv("BUILD_WORKING_DIRECTORY");
    std::filesystem::remove_all(directory_);
  }

  std::string Path(absl::string_view name) const {
    return absl::StrCat(directory_, "/", name);
  }

  void WriteFile(absl::string_view name, absl::string_view text) const {
    const std::filesystem::path path = Path(name);
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary).write(text.data(), text.size());
  }

 private:
  std::string directory_;
};

// During its lifetime, the thread obeys the permissions of files, even as root.
class WithoutFileCapabilities {
 public:
  WithoutFileCapabilities() {
    EXPECT_EQ(syscall(SYS_capget, &header_, data_), 0);
    __user_cap_data_struct fewer[] = {data_[0], data_[1]};
    fewer[0].effective &= ~(1U << CAP_DAC_OVERRIDE | 1U << CAP_DAC_READ_SEARCH);
    EXPECT_EQ(syscall(SYS_capset, &header_, fewer), 0);
  }
  ~WithoutFileCapabilities() {
    EXPECT_EQ(syscall(SYS_capset, &header_, data_), 0);
  }

 private:
  __user_cap_header_struct header_ = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data_[_LINUX_CAPABILITY_U32S_3] = {};
};

}  // namespace regard::testing

#endif  // FILES_TESTING_TEMPORARY_FILES_H_
