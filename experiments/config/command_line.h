// The arguments of Regard's programs: `--name=value` or `--name value`,
// switches without a value, and what is not a flag.
#ifndef EXPERIMENTS_CONFIG_COMMAND_LINE_H_
#define EXPERIMENTS_CONFIG_COMMAND_LINE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace regard {

class CommandLine {
 public:
  // `usage` is shown by --help, above the flags.
  explicit CommandLine(absl::string_view usage) : usage_(usage) {}

  // Each flag writes to a variable of the caller, which holds its default and
  // must outlive Parse(). A flag given twice is an error, but for Repeated.
  // `kind` names a value in --help: "DIR", "FILE", "PATH=VALUE".
  void Text(absl::string_view name, absl::string_view kind, std::string* value,
            absl::string_view help);
  void Repeated(absl::string_view name, absl::string_view kind,
                std::vector<std::string>* values, absl::string_view help);
  void Number(absl::string_view name, int* value, int min, int max,
              absl::string_view help);
  void Real(absl::string_view name, double* value, double min, double max,
            absl::string_view help);
  void Switch(absl::string_view name, bool* value, absl::string_view help);
  // What does not begin with '-', "-" itself, numbers below 0, and all that
  // follows `--`; without it, an error.
  void Positional(std::vector<std::string>* values, absl::string_view name);

  // InvalidArgument, complete to print, for what is not understood. With
  // --help or -h, a Cancelled status whose message is the help.
  absl::Status Parse(int argc, char** argv) const;

  std::string Help() const;

 private:
  struct Flag {
    std::string name;
    std::string kind;
    std::string help;
    std::string* text = nullptr;
    std::vector<std::string>* repeated = nullptr;
    int* number = nullptr;
    double* real = nullptr;
    double min = 0;
    double max = 0;
    bool* on = nullptr;
  };

  Flag& Add(absl::string_view name, absl::string_view kind,
            absl::string_view help);
  absl::Status Set(const Flag& flag, const std::string& value) const;

  std::string usage_;
  std::vector<Flag> flags_;
  std::vector<std::string>* positional_ = nullptr;
  std::string positional_name_;
};

// What main() returns when all has been printed: 0, or 1, with a message on
// standard error, if standard output did not take all of it.
int FinishOutput();

// The exit codes of all programs; tools/README.md lists them.
inline constexpr int kExitFailed = 1;      // the machine: IsMachineFailure()
inline constexpr int kExitWrongInput = 2;  // or usage
inline constexpr int kExitDiverged = 3;    // an Internal error of the trainer

// What main() returns when `status` ends the program: with an error, its exit
// code after printing it to standard error; otherwise FinishOutput(), with help
// after printing that to standard output.
int ExitCode(const absl::Status& status);

}  // namespace regard

#endif  // EXPERIMENTS_CONFIG_COMMAND_LINE_H_
