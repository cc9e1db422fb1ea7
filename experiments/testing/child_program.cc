#include "experiments/testing/child_program.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

constexpr int kCannotRun = 127;

std::string ReadAll(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

void SendTo(const std::string& path, int descriptor) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  if (file < 0 || dup2(file, descriptor) < 0) _exit(kCannotRun);
}

}  // namespace

ChildProgram::ChildProgram(const std::vector<std::string>& command,
                           const std::string& output, bool unprivileged)
    : output_(output), started_(absl::Now()) {
  std::vector<char*> arguments;
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  pid_ = fork();
  REGARD_CHECK(pid_ >= 0) << "cannot fork";
  if (pid_ != 0) return;
  SendTo(output + ".out", STDOUT_FILENO);
  SendTo(output + ".err", STDERR_FILENO);
  if (unprivileged) {
    // Fails for all users except root, because they do not have these
    // capabilities.
    prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE);
    prctl(PR_CAPBSET_DROP, CAP_DAC_READ_SEARCH);
  }
  execv(arguments[0], arguments.data());
  _exit(kCannotRun);
}

ChildProgram::~ChildProgram() {
  if (code_ >= 0) return;
  Signal(SIGKILL);
  Wait();
}

void ChildProgram::Signal(int number) const { kill(pid_, number); }

int ChildProgram::Wait() {
  if (code_ >= 0) return code_;
  int status = 0;
  REGARD_CHECK(waitpid(pid_, &status, 0) == pid_) << "cannot wait";
  elapsed_ = absl::Now() - started_;
  code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return code_;
}

std::string ChildProgram::Output() const { return ReadAll(output_ + ".out"); }

std::string ChildProgram::Errors() const { return ReadAll(output_ + ".err"); }

}  // namespace regard
