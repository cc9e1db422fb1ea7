#include "data/text/subword_trainer.h"

#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "data/text/subwords.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::regard::testing::StatusIs;
using ::testing::HasSubstr;

TEST(TrainSubwordsTest, SaysWhyItFailed) {
  SubwordsConfig options;
  options.set_vocabulary_size(10000);
  EXPECT_THAT(TrainSubwords(options, "too short a text\n"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("Vocabulary size too high")));
}

TEST(TrainSubwordsTest, NeedsAWord) {
  EXPECT_THAT(TrainSubwords(SubwordsConfig(), " \n"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("at least one word")));
}

// If a parent process ignores SIGCHLD, the program inherits this setting. The
// training must still end.
TEST(TrainSubwordsTest, EndsIfChildrenAreIgnored) {
  signal(SIGCHLD, SIG_IGN);
  SubwordsConfig options;
  options.set_vocabulary_size(10000);
  EXPECT_THAT(TrainSubwords(options, "too short a text\n"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("Vocabulary size too high")));
  EXPECT_EQ(signal(SIGCHLD, SIG_DFL), SIG_IGN);
}

// Each thread's training must end, although another thread may receive its
// SIGCHLD.
TEST(TrainSubwordsTest, EndsBesideOtherThreads) {
  const std::string folder = ::testing::TempDir() + "/subword_trainer_threads";
  std::filesystem::create_directories(folder);
  const std::string program = folder + "/spm_train";
  std::ofstream(program) << "#!/bin/true\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  const std::string path = getenv("PATH");
  setenv("PATH", absl::StrCat(folder, ":", path).c_str(), 1);
  std::vector<std::thread> threads(2);
  for (std::thread& thread : threads) {
    thread = std::thread([] {
      for (int i = 0; i < 500; ++i) {
        // This spm_train ends at once without writing a model.
        EXPECT_THAT(
            TrainSubwords(SubwordsConfig(), "a text\n"),
            StatusIs(absl::StatusCode::kNotFound, HasSubstr("model.model")));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  setenv("PATH", path.c_str(), 1);
}

// Trains with a program that never ends, and that writes its process id to
// `file`. After that, another process sends the signal.
void TrainUntil(int signal_number, const std::string& file) {
  if (fork() == 0) {
    while (!std::filesystem::exists(file)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    kill(getppid(), signal_number);
    _exit(0);
  }
  TrainSubwords(SubwordsConfig(), "a text\n").IgnoreError();
}

TEST(TrainSubwordsDeathTest, ASignalLeavesNothingBehind) {
  const std::string folder = ::testing::TempDir() + "/subword_trainer_test";
  for (const int number : {SIGTERM, SIGINT}) {
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder + "/temporary");
    const std::string file = folder + "/pid";
    const std::string program = folder + "/spm_train";
    std::ofstream(program) << "#!/bin/sh\necho $$ > " << file << ".tmp\nmv "
                           << file << ".tmp " << file << "\nexec sleep 60\n";
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    EXPECT_EXIT(
        {
          setenv("TMPDIR", (folder + "/temporary").c_str(), 1);
          setenv("PATH", absl::StrCat(folder, ":", getenv("PATH")).c_str(), 1);
          TrainUntil(number, file);
        },
        ::testing::KilledBySignal(number), "");
    EXPECT_TRUE(std::filesystem::is_empty(folder + "/temporary"));
    pid_t child = 0;
    std::ifstream(file) >> child;
    ASSERT_GT(child, 0);
    EXPECT_EQ(kill(child, 0), -1);
    EXPECT_EQ(errno, ESRCH);
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace regard
