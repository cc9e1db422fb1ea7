// Parses the arguments of Regard's programs: flags, switches and positional
// arguments. A flag is `--name=value` or `--name value`. A switch is `--name`.
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

// The output of --version: "Regard" and the latest release in CHANGELOG.md.
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
  // `usage` is the first part of --help. All texts that are passed to this
  // object must outlive it.
  explicit CommandLine(absl::string_view usage) : usage_(usage) {}

  // Adds a flag that writes to a variable of the caller. The variable has the
  // default as its initial value and must outlive Parse(). Only Repeated()
  // flags may be given twice.
  //
  // `kind` names the value in --help: "DIR", "FILE", "PATH=VALUE". --help shows
  // `otherwise` as the default of the flag. If `otherwise` is empty, it shows
  // the value of the variable (if valid) or the default of the field.
  void Text(absl::string_view name, absl::string_view kind, std::string* value,
            absl::string_view help, absl::string_view otherwise = "");
  void Repeated(absl::string_view name, absl::string_view kind,
                std::vector<std::string>* values, absl::string_view help);
  void Number(absl::string_view name, int* value, int min, int max,
              absl::string_view help, absl::string_view otherwise = "");
  // Adds a flag that sets the numeric field `name` of `message`.
  void Field(absl::string_view name, google::protobuf::Message* message,
             double min, double max, absl::string_view help,
             absl::string_view otherwise = "");
  void Switch(absl::string_view name, bool* value, absl::string_view help);
  // Adds a flag that an earlier version had. Using this flag is an error whose
  // message recommends `instead`.
  void RemovedFlag(absl::string_view name, absl::string_view instead);
  // Collects positional arguments: arguments that do not begin with '-', "-"
  // itself, negative numbers, and all arguments after `--`. Without this call,
  // positional arguments are errors.
  void Positional(std::vector<std::string>* values, absl::string_view name);

  // Parses the arguments. Returns InvalidArgument if an argument is not valid,
  // with a message to print. Returns Cancelled if --help, -h or --version is
  // given, with the text to print as the message.
  absl::Status Parse(int argc, char** argv) const;

  std::string Help() const;

 private:
  struct Flag {
    absl::string_view name;
    absl::string_view kind;  // empty for a switch
    absl::string_view help;
    std::string wanted;                           // valid values, for messages
    std::function<bool(const std::string&)> set;  // false if invalid
    bool repeats = false;
    std::string otherwise = {};  // default in --help, or empty
  };

  void AddNumber(absl::string_view name, bool is_whole, double min, double max,
                 absl::string_view help, std::string otherwise,
                 std::function<void(double)> store);

  absl::string_view usage_;
  std::vector<Flag> flags_;
  // Replacements, by removed flag.
  std::map<std::string, absl::string_view> former_;
  std::vector<std::string>* positional_ = nullptr;
  absl::string_view positional_name_;
};

// Flushes standard output and returns the exit code for main(). If some output
// could not be written, prints a message to standard error and returns
// kExitFailed.
int FlushStandardOutput();

// Exit codes of all programs, listed in tools/README.md.
inline constexpr int kExitFailed = 1;      // IsMachineFailure()
inline constexpr int kExitWrongInput = 2;  // wrong input or usage
inline constexpr int kExitDiverged = 3;    // Internal error of the trainer

// Reports `status` and returns the exit code for main(). Prints errors to
// standard error, and help to standard output. Replaces control characters
// except newlines and tabs. Calls FlushStandardOutput() unless there is an
// error.
int ExitCode(const absl::Status& status);

}  // namespace regard

#endif  // OPTIONS_COMMAND_LINE_H_
