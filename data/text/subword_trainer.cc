#include "data/text/subword_trainer.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "data/text/subwords.pb.h"
#include "files/file.h"
#include "files/utf8.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

constexpr char kProgram[] = "spm_train";
constexpr int kMaxSentenceBytes = 1 << 16;

constexpr int64_t kMaxModelBytes = int64_t{1} << 30;

// Returns the line of spm_train's messages that contains the error.
std::string ErrorLine(const std::string& messages) {
  std::string last;
  for (const absl::string_view line : absl::StrSplit(messages, '\n')) {
    if (line.empty() || absl::StrContains(line, "LOG(") ||
        absl::StartsWith(line, "Program terminated")) {
      continue;
    }
    // In a line, the message follows the source location and the condition.
    const size_t bracket = line.rfind("] ");
    const absl::string_view message =
        bracket == absl::string_view::npos ? line : line.substr(bracket + 2);
    // Without a message, the line names the condition that does not hold.
    last = std::string(message.empty() ? line : message);
  }
  return last.empty() ? "no message" : last;
}

// Blocks SIGINT and SIGTERM during its lifetime. Makes sure that SIGCHLD is
// sent, even if the program was started with SIGCHLD ignored.
class HeldSignals {
 public:
  HeldSignals() {
    sigemptyset(&set_);
    for (const int number : {SIGINT, SIGTERM, SIGCHLD}) {
      sigaddset(&set_, number);
    }
    pthread_sigmask(SIG_BLOCK, &set_, &before_);
    const struct sigaction sent = {};  // SIG_DFL
    sigaction(SIGCHLD, &sent, &children_before_);
  }
  ~HeldSignals() {
    sigaction(SIGCHLD, &children_before_, nullptr);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  // Returns the next blocked signal, or SIGCHLD. Another thread may take a
  // SIGCHLD, so this function also returns SIGCHLD after a timeout.
  int Wait() const {
    constexpr timespec kWhile = {.tv_sec = 0, .tv_nsec = 20'000'000};
    const int number = sigtimedwait(&set_, nullptr, &kWhile);
    return number < 0 ? SIGCHLD : number;
  }

  // The signals that were blocked before.
  const sigset_t& before() const { return before_; }

 private:
  sigset_t set_;
  sigset_t before_;
  struct sigaction children_before_;
};

// Runs the program in `folder`, and writes its messages to the file `messages`.
// Returns its status as waitpid() does. If a blocked signal arrives, kills the
// program and stores the signal in `stopped_by`.
absl::StatusOr<int> RunProgram(std::vector<std::string> arguments,
                               const std::string& folder,
                               const std::string& messages,
                               const HeldSignals& signals, int* stopped_by) {
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  const absl::Cleanup destroy = [&] {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  };
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null",
                                   O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, messages.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  posix_spawnattr_setsigmask(&attributes, &signals.before());
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t child = 0;
  const int failed = posix_spawnp(&child, kProgram, &actions, &attributes,
                                  pointers.data(), environ);
  if (failed == ENOENT) {
    return absl::UnavailableError(
        "training subwords requires the program spm_train, which is not "
        "installed; install it with apt-get install sentencepiece");
  }
  if (failed != 0) {
    return WriteError(kProgram, "run it", failed);
  }
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    const int number = signals.Wait();
    if (number == SIGCHLD) continue;
    *stopped_by = number;
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    break;
  }
  return status;
}

// Returns the model. If a signal ended the training, callers must ignore the
// result.
absl::StatusOr<std::string> TrainInFolder(const SubwordsConfig& options,
                                          absl::string_view sentences,
                                          const std::string& folder,
                                          const HeldSignals& signals,
                                          int* stopped_by) {
  const auto path = [&](absl::string_view name) {
    return absl::StrCat(folder, "/", name);
  };
  REGARD_RETURN_IF_ERROR(WriteFileAtomically(path("sentences"), sentences));
  const char* const type = options.kind() == SubwordsConfig::BPE ? "bpe"
                           : options.kind() == SubwordsConfig::UNIGRAM
                               ? "unigram"
                               : "char";
  // Uses one thread, because unigram models depend on the number of threads.
  // Uses names relative to the folder, because a model contains them and the
  // folder has a random name. The reserved tokens are the same as in
  // Vocabulary.
  REGARD_ASSIGN_OR_RETURN(
      const int status,
      RunProgram(
          {kProgram, "--input=sentences", "--model_prefix=model",
           absl::StrCat("--model_type=", type),
           absl::StrCat("--vocab_size=", options.vocabulary_size()),
           absl::StrCat("--character_coverage=", options.character_coverage()),
           absl::StrCat("--normalization_rule_name=", options.normalization()),
           absl::StrCat("--max_sentence_length=", kMaxSentenceBytes),
           "--input_sentence_size=0", "--shuffle_input_sentence=false",
           "--num_threads=1", "--unk_id=0", "--pad_id=1", "--bos_id=2",
           "--eos_id=3", "--unk_piece=<unk>", "--pad_piece=<pad>",
           "--bos_piece=<bos>", "--eos_piece=<eos>"},
          folder, path("messages"), signals, stopped_by));
  if (status == 0) return ReadFile(path("model.model"), kMaxModelBytes);
  if (WIFSIGNALED(status)) {
    return absl::UnavailableError(
        absl::StrCat(kProgram, " ended by signal ", WTERMSIG(status)));
  }
  REGARD_ASSIGN_OR_RETURN(const std::string messages,
                          ReadFile(path("messages"), kMaxModelBytes));
  return absl::InvalidArgumentError(
      absl::StrCat(kProgram, " failed: ", ErrorLine(messages)));
}

}  // namespace

absl::StatusOr<std::string> TrainSubwords(const SubwordsConfig& options,
                                          absl::string_view sentences) {
  const auto lines = absl::StrSplit(sentences, '\n');
  if (std::all_of(lines.begin(), lines.end(), [](absl::string_view line) {
        return SplitOnWhitespace(line).empty();
      })) {
    return absl::InvalidArgumentError(
        "learning subwords requires at least one word, but the training text "
        "has none");
  }
  absl::StatusOr<std::string> model = absl::InternalError("");
  int stopped_by = 0;
  {
    const HeldSignals signals;
    std::error_code error;
    const std::filesystem::path parent =
        std::filesystem::temp_directory_path(error);
    std::string folder =
        absl::StrCat(error ? "/tmp" : parent.string(), "/subwords-XXXXXX");
    if (mkdtemp(folder.data()) == nullptr) {
      return WriteError(folder, "create the directory", errno);
    }
    model = TrainInFolder(options, sentences, folder, signals, &stopped_by);
    std::filesystem::remove_all(folder, error);
  }
  if (stopped_by == 0) return model;
  raise(stopped_by);
  return absl::CancelledError(absl::StrCat("stopped by signal ", stopped_by));
}

}  // namespace regard
