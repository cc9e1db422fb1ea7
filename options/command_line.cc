#include "options/command_line.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "files/exhaustion.h"
#include "files/file.h"
#include "files/printable_text.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/text_format.h"
#include "options/config_fields.h"
#include "options/name_suggestion.h"

namespace regard {
namespace {

using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::TextFormat;

// Opens the standard streams that are closed. Otherwise, a file that the
// program opens later could get the number of a standard stream and receive its
// output.
void OpenStandardStreams() {
  int fd;
  do {
    fd = SystemFiles().Open("/dev/null", O_RDONLY);
  } while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd > STDERR_FILENO) SystemFiles().Close(fd);
}

// Whether an argument is a flag or switch. False for "-" and for negative
// numbers such as "-1" and "-.5".
bool LooksLikeFlag(absl::string_view argument) {
  return argument.size() > 1 && argument[0] == '-' && argument[1] != '.' &&
         !absl::ascii_isdigit(argument[1]);
}

// Like PrintableText(), but keeps newlines and tabs.
std::string PrintableLines(absl::string_view text) {
  std::string lines;
  while (true) {
    const size_t end = std::min(text.find_first_of("\n\t"), text.size());
    absl::StrAppend(&lines, PrintableText(text.substr(0, end)),
                    text.substr(end, 1));
    if (end == text.size()) return lines;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

void CommandLine::Text(absl::string_view name, absl::string_view kind,
                       std::string* value, absl::string_view help,
                       absl::string_view otherwise) {
  const auto set = [value](const std::string& text) {
    *value = text;
    // An empty value is an error, because it usually comes from an unset shell
    // variable.
    return !text.empty();
  };
  flags_.push_back({name, kind, help, "a non-empty string", set,
                    /*repeats=*/false,
                    otherwise.empty() ? *value : std::string(otherwise)});
}

void CommandLine::Repeated(absl::string_view name, absl::string_view kind,
                           std::vector<std::string>* values,
                           absl::string_view help) {
  const auto add = [values](const std::string& text) {
    values->push_back(text);
    return true;
  };
  flags_.push_back({name, kind, help, "", add, /*repeats=*/true});
}

void CommandLine::AddNumber(absl::string_view name, bool is_whole, double min,
                            double max, absl::string_view help,
                            std::string otherwise,
                            std::function<void(double)> store) {
  const auto set = [=](const std::string& text) {
    int64_t whole;
    double number;
    // The negated comparison also rejects NaN.
    if ((is_whole && !absl::SimpleAtoi(text, &whole)) ||
        !absl::SimpleAtod(text, &number) || !(number >= min && number <= max)) {
      return false;
    }
    store(number);
    return true;
  };
  flags_.push_back(
      {name, is_whole ? "N" : "X", help,
       is_whole ? absl::StrFormat("a whole number from %.0f to %.0f", min, max)
                : absl::StrCat("a number from ", min, " to ", max),
       set, /*repeats=*/false, std::move(otherwise)});
}

void CommandLine::Number(absl::string_view name, int* value, int min, int max,
                         absl::string_view help, absl::string_view otherwise) {
  std::string shown(otherwise);
  // A variable whose value is out of range has no default.
  if (shown.empty() && *value >= min && *value <= max) {
    shown = absl::StrCat(*value);
  }
  AddNumber(name, /*is_whole=*/true, min, max, help, std::move(shown),
            [value](double number) { *value = static_cast<int>(number); });
}

void CommandLine::Field(absl::string_view name, Message* message, double min,
                        double max, absl::string_view help,
                        absl::string_view otherwise) {
  const FieldDescriptor* field =
      message->GetDescriptor()->FindFieldByName(std::string(name));
  std::string shown(otherwise);
  if (shown.empty() && field->has_default_value()) {
    const std::unique_ptr<Message> defaults(message->New());
    TextFormat::PrintFieldValueToString(*defaults, field, /*index=*/-1, &shown);
  }
  AddNumber(name, DescribeType(*field) == "an integer", min, max, help,
            std::move(shown), [field, message](double number) {
              StoreFieldValue(absl::StrFormat("%.17g", number), *field,
                              std::nullopt, message);
            });
}

void CommandLine::Switch(absl::string_view name, bool* value,
                         absl::string_view help) {
  const auto set = [value](const std::string&) { return *value = true; };
  flags_.push_back({name, "", help, "", set});
}

void CommandLine::RemovedFlag(absl::string_view name,
                              absl::string_view instead) {
  former_.emplace(name, instead);
}

void CommandLine::Positional(std::vector<std::string>* values,
                             absl::string_view name) {
  positional_ = values;
  positional_name_ = name;
}

std::string CommandLine::Help() const {
  std::string text = absl::StrCat(usage_, "\n\n");
  for (const Flag& flag : flags_) {
    std::string form = absl::StrCat("  --", flag.name);
    if (!flag.kind.empty()) {
      absl::StrAppend(&form, absl::StrContains(flag.kind, '=') ? " " : "=",
                      flag.kind);
    }
    form.resize(std::max<size_t>(form.size() + 2, 24), ' ');
    absl::StrAppend(&text, form, flag.help);
    if (!flag.otherwise.empty()) {
      absl::StrAppend(&text, " (default: ", flag.otherwise, ")");
    }
    absl::StrAppend(&text, "\n");
  }
  return text;
}

absl::Status CommandLine::Parse(int argc, char** argv) const {
  const auto error = [](const auto&... parts) {
    return absl::InvalidArgumentError(absl::StrCat("error: ", parts...));
  };
  OpenStandardStreams();
  EndWithMessageIfExhausted();
  std::set<absl::string_view> seen;
  bool only_positional = false;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (!only_positional && argument == "--") {
      only_positional = true;
      continue;
    }
    if (only_positional || !absl::StartsWith(argument, "--")) {
      if (!only_positional && argument == "-h") {
        return absl::CancelledError(Help());
      }
      if (positional_ == nullptr) {
        return error("'", argument, "' is not a flag; see --help");
      }
      if (!only_positional && LooksLikeFlag(argument)) {
        return error("'", argument,
                     "' is not a flag; see --help, and write -- before a ",
                     positional_name_, " that begins with '-'");
      }
      positional_->push_back(argument);
      continue;
    }
    const size_t equals = std::min(argument.find('='), argument.size());
    const std::string name = argument.substr(2, equals - 2);
    if (name == "help") return absl::CancelledError(Help());
    if (name == "version") return absl::CancelledError(kVersion);
    if (const auto former = former_.find(name); former != former_.end()) {
      return error("there is no flag --", name, " any more; write ",
                   former->second);
    }
    std::vector<std::string> names;
    for (const Flag& known : flags_) names.emplace_back(known.name);
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) {
      return error("there is no flag --", name, SuggestName(name, names));
    }
    const Flag& flag = flags_[found - names.begin()];
    if (!flag.repeats && !seen.insert(flag.name).second) {
      return error("--", name, " is given twice; give it only once");
    }
    std::string value;
    if (equals < argument.size()) {
      if (flag.kind.empty()) return error("--", name, " takes no value");
      value = argument.substr(equals + 1);
    } else if (!flag.kind.empty()) {
      if (++i == argc) return error("--", name, " requires a value");
      value = argv[i];
    }
    if (!flag.set(value)) {
      return error("--", name, " requires ", flag.wanted, ", got '", value,
                   "'");
    }
  }
  return absl::OkStatus();
}

int FlushStandardOutput() {
  // fflush() reports an error of this flush. ferror() also reports errors of
  // earlier flushes.
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return 0;
  std::fputs("error: cannot write to standard output\n", stderr);
  return kExitFailed;
}

int ExitCode(const absl::Status& status) {
  if (status.ok()) return FlushStandardOutput();
  const bool help = absl::IsCancelled(status);
  // Messages quote contents of files, which may contain terminal control
  // sequences.
  const std::string message =
      PrintableLines(absl::StripSuffix(status.message(), "\n"));
  std::fputs(absl::StrCat(message, "\n").c_str(), help ? stdout : stderr);
  if (help) return FlushStandardOutput();
  if (absl::IsInternal(status)) return kExitDiverged;
  return IsMachineFailure(status) ? kExitFailed : kExitWrongInput;
}

}  // namespace regard
