// Runs a program of this repository beside a test: what it prints, how it ends,
// and what signals do to it.
#ifndef EXPERIMENTS_TESTING_CHILD_PROGRAM_H_
#define EXPERIMENTS_TESTING_CHILD_PROGRAM_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/time/time.h"

namespace regard {

class ChildProgram {
 public:
  // Starts `command`, a path and its arguments. What it prints goes to
  // `<output>.out` and `<output>.err`. Where `unprivileged` is set, a child of
  // root cannot pass over the permissions of files.
  ChildProgram(const std::vector<std::string>& command,
               const std::string& output, bool unprivileged = false);
  // Kills it if it still runs.
  ~ChildProgram();

  ChildProgram(const ChildProgram&) = delete;
  ChildProgram& operator=(const ChildProgram&) = delete;

  void Signal(int number) const;

  // Waits for the end: a shell's exit code (128 + a signal that killed it).
  int Wait();

  // Once it has ended.
  std::string Output() const;
  std::string Errors() const;
  absl::Duration Elapsed() const { return elapsed_; }

 private:
  pid_t pid_;
  int code_ = -1;  // until it has ended
  std::string output_;
  absl::Time started_;
  absl::Duration elapsed_;
};

}  // namespace regard

#endif  // EXPERIMENTS_TESTING_CHILD_PROGRAM_H_
