#include "seq2seq/subwords/subword_trainer.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "seq2seq/utf8.h"

namespace regard {

namespace {

constexpr char kProgram[] = "spm_train";
constexpr int kMostSentenceBytes = 1 << 16;

std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The line of spm_train's messages that says what is wrong.
std::string ErrorLine(const std::string& messages) {
  std::string last;
  for (const absl::string_view line : absl::StrSplit(messages, '\n')) {
    if (line.empty() || absl::StrContains(line, "LOG(") ||
        absl::StartsWith(line, "Program terminated")) {
      continue;
    }
    // The message stands behind its place and condition.
    const size_t bracket = line.rfind("] ");
    const absl::string_view message =
        bracket == absl::string_view::npos ? line : line.substr(bracket + 2);
    // Without a message, the condition that does not hold.
    last = std::string(message.empty() ? line : message);
  }
  return last.empty() ? "no message" : last;
}

// Runs the program in `folder` with its messages going to a file; returns how
// it ended, as waitpid() says it.
absl::StatusOr<int> RunProgram(std::vector<std::string> arguments,
                               const std::string& folder,
                               const std::string& messages) {
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const absl::Cleanup destroy = [&] {
    posix_spawn_file_actions_destroy(&actions);
  };
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null",
                                   O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, messages.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  pid_t child = 0;
  const int failed = posix_spawnp(&child, kProgram, &actions, nullptr,
                                  pointers.data(), environ);
  if (failed == ENOENT) {
    return absl::NotFoundError(
        "subwords are trained by the program spm_train, which is not "
        "installed: apt-get install sentencepiece");
  }
  if (failed != 0) {
    return absl::ErrnoToStatus(failed, absl::StrCat("cannot run ", kProgram));
  }
  int ended = 0;
  while (waitpid(child, &ended, 0) < 0) {
    if (errno != EINTR) {
      return absl::ErrnoToStatus(errno,
                                 absl::StrCat("cannot wait for ", kProgram));
    }
  }
  return ended;
}

}  // namespace

struct SubwordTrainer::Files {
  std::string folder;
  std::ofstream sentences;

  std::string Path(absl::string_view name) const {
    return absl::StrCat(folder, "/", name);
  }
};

void SubwordTrainer::DeleteFiles::operator()(Files* files) const {
  std::error_code ignored;
  std::filesystem::remove_all(files->folder, ignored);
  delete files;
}

absl::StatusOr<SubwordTrainer> SubwordTrainer::Create(
    const SubwordOptions& options) {
  std::error_code error;
  const std::filesystem::path parent =
      std::filesystem::temp_directory_path(error);
  std::string folder =
      absl::StrCat(error ? "/tmp" : parent.string(), "/subwords-XXXXXX");
  if (mkdtemp(folder.data()) == nullptr) {
    return absl::ErrnoToStatus(
        errno, absl::StrCat("cannot make a temporary folder ", folder));
  }
  std::unique_ptr<Files, DeleteFiles> files(new Files{std::move(folder), {}});
  files->sentences.open(files->Path("sentences"), std::ios::binary);
  return SubwordTrainer(options, std::move(files));
}

void SubwordTrainer::Add(absl::string_view sentence) {
  is_empty_ = is_empty_ && SplitOnWhitespace(sentence).empty();
  files_->sentences << sentence << '\n';
}

absl::StatusOr<std::string> SubwordTrainer::Train() {
  files_->sentences.close();
  if (!files_->sentences) {
    return absl::ErrnoToStatus(
        ENOSPC, absl::StrCat("cannot write ", files_->Path("sentences")));
  }
  if (is_empty_) {
    return absl::InvalidArgumentError(
        "the text has no word to learn subwords from");
  }
  const std::string messages = files_->Path("messages");
  // One thread: unigram models depend on their number. Names relative to the
  // folder: a model keeps them, and the folder's own name is random. The
  // reserved tokens are those of Vocabulary.
  const absl::StatusOr<int> ended = RunProgram(
      {kProgram, "--input=sentences", "--model_prefix=model",
       absl::StrCat("--model_type=", options_.model_type),
       absl::StrCat("--vocab_size=", options_.vocabulary_size),
       absl::StrCat("--character_coverage=", options_.character_coverage),
       absl::StrCat("--normalization_rule_name=", options_.normalization),
       absl::StrCat("--max_sentence_length=", kMostSentenceBytes),
       "--input_sentence_size=0", "--shuffle_input_sentence=false",
       "--num_threads=1", "--unk_id=0", "--pad_id=1", "--bos_id=2",
       "--eos_id=3", "--unk_piece=<unk>", "--pad_piece=<pad>",
       "--bos_piece=<bos>", "--eos_piece=<eos>"},
      files_->folder, messages);
  if (!ended.ok()) return ended.status();
  std::string model = ReadAll(files_->Path("model.model"));
  if (*ended != 0 || model.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(kProgram, " failed: ", ErrorLine(ReadAll(messages))));
  }
  return model;
}

}  // namespace regard
