// The arguments of Regard's programs: `--name=value` or `--name value`,
// switches without a value, and what is not a flag.
#ifndef OPTIONS_COMMAND_LINE_H_
#define OPTIONS_COMMAND_LINE_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"

namespace regard {

// What --version prints: "Regard" and the latest release in CHANGELOG.md.
extern const char* const kVersion;

// Help texts and defaults of flags that several programs share.
inline constexpr char kRunHelp[] = "run folder";
inline constexpr char kModelHelp[] =
    "Hugging Face model folder; give either this or --run";
inline constexpr char kConfigHelp[] = "config file of the experiment";
inline constexpr char kSetHelp[] =
    "changes a field of the config; may be repeated";
inline constexpr char kThreadsHelp[] =
    "number of threads; results are bit-identical for any number";
inline constexpr char kThreadsDefault[] = "one per core";
inline constexpr char kRunConfigDefault[] = "as in the run's config";
inline constexpr char kJsonHelp[] =
    "prints JSON instead of text (docs/json.md)";
inline constexpr char kExampleHelp[] =
    "index, from 0, of an example in the run's test split, or in its dev split "
    "if it has no test split";
inline constexpr char kLengthHelp[] =
    "maximum number of tokens to generate: characters, words or subwords";

class CommandLine {
 public:
  // --help shows `usage` above the flags. All texts given outlive this.
  explicit CommandLine(absl::string_view usage) : usage_(usage) {}

  // Each flag writes to a variable of the caller, which holds its default and
  // must outlive Parse(). A flag given twice is an error, but for Repeated.
  // `kind` names a value in --help: "DIR", "FILE", "PATH=VALUE". --help ends
  // with the default: `otherwise` if it is not empty, else the value of the
  // variable, if it is allowed, or the default of the field.
  void Text(absl::string_view name, absl::string_view kind, std::string* value,
            absl::string_view help, absl::string_view otherwise = "");
  void Repeated(absl::string_view name, absl::string_view kind,
                std::vector<std::string>* values, absl::string_view help);
  void Number(absl::string_view name, int* value, int min, int max,
              absl::string_view help, absl::string_view otherwise = "");
  // Sets the number `name` of `message`, whole or not.
  void Field(absl::string_view name, google::protobuf::Message* message,
             double min, double max, absl::string_view help,
             absl::string_view otherwise = "");
  void Switch(absl::string_view name, bool* value, absl::string_view help);
  // A flag of earlier versions is an error that says what to write `instead`.
  void Former(absl::string_view name, absl::string_view instead);
  // What does not begin with '-', "-" itself, numbers below 0, and all that
  // follows `--`; without it, an error.
  void Positional(std::vector<std::string>* values, absl::string_view name);

  // InvalidArgument, complete to print, for what is not understood. With
  // --help, -h or --version, a Cancelled status whose message is what to print.
  absl::Status Parse(int argc, char** argv) const;

  std::string Help() const;

 private:
  struct Flag {
    absl::string_view name;
    absl::string_view kind;  // empty for a switch
    absl::string_view help;
    std::string wanted;  // what values are right, for an error
    std::function<bool(const std::string&)> set;  // false for a wrong value
    bool repeats = false;
    std::string otherwise = {};  // the default in --help; empty: none
  };

  void AddNumber(absl::string_view name, bool is_whole, double min, double max,
                 absl::string_view help, std::string otherwise,
                 std::function<void(double)> store);

  absl::string_view usage_;
  std::vector<Flag> flags_;
  std::map<std::string, absl::string_view> former_;  // what to write instead
  std::vector<std::string>* positional_ = nullptr;
  absl::string_view positional_name_;
};

// What main() returns when all has been printed: 0, or 1, with a message on
// standard error, if standard output did not take all of it.
int FinishOutput();

// The exit codes of all programs; tools/README.md lists them.
inline constexpr int kExitFailed = 1;      // the machine: IsMachineFailure()
inline constexpr int kExitWrongInput = 2;  // or usage
inline constexpr int kExitDiverged = 3;    // an Internal error of the trainer

// What main() returns when `status` ends the program: with an error, its exit
// code after printing it, without control characters but newlines and tabs, to
// standard error; otherwise FinishOutput(), with help after printing that to
// standard output.
int ExitCode(const absl::Status& status);

}  // namespace regard

#endif  // OPTIONS_COMMAND_LINE_H_
