#include "experiments/sweep/cell_processes.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <deque>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "files/file.h"

namespace regard {
namespace {

constexpr int kCannotRun = 1;

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) +
         static_cast<double>(time.tv_usec) * 1e-6;
}

// Redirects a descriptor of this process to the file `path`.
bool Replace(int descriptor, const std::string& path, int flags) {
  const Descriptor file(path, flags, SystemFiles());
  return file.number() >= 0 && dup2(file.number(), descriptor) >= 0;
}

absl::Status CannotFork() {
  return absl::ResourceExhaustedError(
      absl::StrCat("error: cannot start a process: ", strerror(errno)));
}

int ExitCodeOf(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// Exits without running destructors, which belong to the parent.
[[noreturn]] void End(int code) {
  std::fflush(nullptr);
  _exit(code);
}

}  // namespace

CellProcesses::CellProcesses() {
  sigemptyset(&watched_);
  for (const int number : {SIGCHLD, SIGINT, SIGTERM}) {
    sigaddset(&watched_, number);
  }
  sigprocmask(SIG_BLOCK, &watched_, &before_);
}

CellProcesses::~CellProcesses() {
  for (const auto& [process, cell] : children_) {
    kill(process, SIGKILL);
    waitpid(process, nullptr, 0);
  }
  sigprocmask(SIG_SETMASK, &before_, nullptr);
}

absl::Status CellProcesses::Start(size_t cell, const std::string& log,
                                  const std::function<int()>& run) {
  // Prevents the child from writing buffered output again.
  std::fflush(nullptr);
  const pid_t parent = getpid();
  const pid_t process = fork();
  if (process < 0) return CannotFork();
  if (process > 0) {
    setpgid(process, process);
    children_[process] = cell;
    return absl::OkStatus();
  }
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) End(kCannotRun);
  sigprocmask(SIG_SETMASK, &before_, nullptr);
  if (!Replace(STDIN_FILENO, "/dev/null", O_RDONLY) ||
      !Replace(STDOUT_FILENO, log, O_WRONLY | O_CREAT | O_APPEND) ||
      dup2(STDOUT_FILENO, STDERR_FILENO) < 0) {
    End(kCannotRun);
  }
  End(run());
}

std::vector<CellProcesses::Ended> CellProcesses::Wait(absl::Duration longest) {
  std::vector<Ended> ended;
  const auto collect = [&] {
    for (auto child = children_.begin(); child != children_.end();) {
      int status = 0;
      rusage usage = {};
      if (wait4(child->first, &status, WNOHANG, &usage) != child->first) {
        ++child;
        continue;
      }
      ended.push_back({child->second, ExitCodeOf(status),
                       Seconds(usage.ru_utime) + Seconds(usage.ru_stime)});
      child = children_.erase(child);
    }
  };
  collect();
  if (!ended.empty()) return ended;
  const timespec time = absl::ToTimespec(longest);
  const int number = sigtimedwait(&watched_, nullptr, &time);
  if (number == SIGINT || number == SIGTERM) {
    if (stop_signal_ == 0) stop_signal_ = number;
    for (const auto& [process, cell] : children_) kill(process, SIGTERM);
  }
  collect();
  return ended;
}

std::vector<absl::StatusOr<std::string>> ComputeInChildren(
    size_t count, int jobs,
    absl::FunctionRef<absl::StatusOr<std::string>(size_t)> compute) {
  struct Child {
    pid_t process = -1;
    int pipe = -1;
  };
  std::vector<absl::StatusOr<std::string>> results;
  std::deque<Child> children;
  // Reads the result of the oldest child: "0\n" followed by its text, or the
  // code of an error followed by its message.
  const auto finish = [&] {
    const Child child = children.front();
    children.pop_front();
    std::string text;
    std::array<char, 4096> bytes;
    for (;;) {
      const ssize_t got = read(child.pipe, bytes.data(), bytes.size());
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;
      text.append(bytes.data(), static_cast<size_t>(got));
    }
    close(child.pipe);
    int status = 0;
    waitpid(child.process, &status, 0);
    const size_t newline = text.find('\n');
    int code = 0;
    if (ExitCodeOf(status) != 0 || newline == std::string::npos ||
        !absl::SimpleAtoi(text.substr(0, newline), &code)) {
      results.emplace_back(absl::ResourceExhaustedError(absl::StrCat(
          "error: a process ended with exit code ", ExitCodeOf(status))));
    } else if (code == 0) {
      results.emplace_back(text.substr(newline + 1));
    } else {
      results.emplace_back(absl::Status(static_cast<absl::StatusCode>(code),
                                        text.substr(newline + 1)));
    }
  };
  absl::Status failure;
  for (size_t i = 0; i < count && failure.ok(); ++i) {
    if (children.size() >= static_cast<size_t>(jobs)) finish();
    std::array<int, 2> ends;
    std::fflush(nullptr);
    if (pipe2(ends.data(), O_CLOEXEC) != 0) {
      failure = CannotFork();
      break;
    }
    const pid_t process = fork();
    if (process == 0) {
      prctl(PR_SET_PDEATHSIG, SIGTERM);
      const absl::StatusOr<std::string> result = compute(i);
      const std::string text =
          absl::StrCat(result.status().raw_code(), "\n",
                       result.ok() ? *result : result.status().message());
      size_t written = 0;
      while (written < text.size()) {
        const ssize_t put =
            write(ends[1], text.data() + written, text.size() - written);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) End(kCannotRun);
        written += static_cast<size_t>(put);
      }
      End(0);
    }
    if (process < 0) {
      failure = CannotFork();
      close(ends[0]);
    } else {
      children.push_back({process, ends[0]});
    }
    close(ends[1]);
  }
  while (!children.empty()) finish();
  if (!failure.ok()) results.resize(count, failure);
  return results;
}

}  // namespace regard
