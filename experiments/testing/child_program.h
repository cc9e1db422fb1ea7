// Runs a program of this repository as a child process of a test. Captures its
// output and its exit code, and sends signals to it.
#ifndef EXPERIMENTS_TESTING_CHILD_PROGRAM_H_
#define EXPERIMENTS_TESTING_CHILD_PROGRAM_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/time/time.h"

namespace regard {

class ChildProgram {
 public:
  // Starts `command`, a path followed by arguments. The program writes its
  // output to `<output>.out` and `<output>.err`. If `unprivileged`, file
  // permissions apply to the program even if root starts it.
  ChildProgram(const std::vector<std::string>& command,
               const std::string& output, bool unprivileged = false);
  // Kills the program if it is still running.
  ~ChildProgram();

  ChildProgram(const ChildProgram&) = delete;
  ChildProgram& operator=(const ChildProgram&) = delete;

  void Signal(int number) const;

  // Waits for the end of the program. Returns its exit code, or 128 plus the
  // number of the signal that ended it.
  int Wait();

  // The functions below may only be called after Wait().
  std::string Output() const;
  std::string Errors() const;
  absl::Duration TotalDuration() const { return elapsed_; }

 private:
  pid_t pid_;
  int code_ = -1;  // -1 until the program has ended
  std::string output_;
  absl::Time started_;
  absl::Duration elapsed_;
};

}  // namespace regard

#endif  // EXPERIMENTS_TESTING_CHILD_PROGRAM_H_
