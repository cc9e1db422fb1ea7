#include "experiments/config/command_line.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "experiments/config/field_names.h"
#include "files/file.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

// Opens standard streams that are closed, for reading alone. A file that is
// opened later would take their place, and get what is written to them.
void OpenStandardStreams() {
  int fd = 0;
  while (fd >= 0 && fd <= STDERR_FILENO) {
    fd = SystemFiles().OpenToRead("/dev/null");
  }
  if (fd > STDERR_FILENO) SystemFiles().Close(fd);
}

// "-" stands for itself, "-1" and "-.5" are numbers.
bool LooksLikeFlag(absl::string_view argument) {
  return argument.size() > 1 && argument[0] == '-' && argument[1] != '.' &&
         !absl::ascii_isdigit(argument[1]);
}

}  // namespace

CommandLine::Flag& CommandLine::Add(absl::string_view name,
                                    absl::string_view kind,
                                    absl::string_view help) {
  Flag& flag = flags_.emplace_back();
  flag.name = std::string(name);
  flag.kind = std::string(kind);
  flag.help = std::string(help);
  return flag;
}

void CommandLine::Text(absl::string_view name, absl::string_view kind,
                       std::string* value, absl::string_view help) {
  Add(name, kind, help).text = value;
}

void CommandLine::Repeated(absl::string_view name, absl::string_view kind,
                           std::vector<std::string>* values,
                           absl::string_view help) {
  Add(name, kind, help).repeated = values;
}

void CommandLine::Number(absl::string_view name, int* value, int min, int max,
                         absl::string_view help) {
  Flag& flag = Add(name, "N", help);
  flag.number = value;
  flag.min = min;
  flag.max = max;
}

void CommandLine::Real(absl::string_view name, double* value, double min,
                       double max, absl::string_view help) {
  Flag& flag = Add(name, "X", help);
  flag.real = value;
  flag.min = min;
  flag.max = max;
}

void CommandLine::Switch(absl::string_view name, bool* value,
                         absl::string_view help) {
  Add(name, "", help).on = value;
}

void CommandLine::Positional(std::vector<std::string>* values,
                             absl::string_view name) {
  positional_ = values;
  positional_name_ = std::string(name);
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
    absl::StrAppend(&text, form, flag.help, "\n");
  }
  return text;
}

absl::Status CommandLine::Set(const Flag& flag,
                              const std::string& value) const {
  if (flag.text != nullptr) {
    // As of a variable of the shell that is not set.
    if (value.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("error: --", flag.name, " wants a text, got ''"));
    }
    *flag.text = value;
  } else if (flag.repeated != nullptr) {
    flag.repeated->push_back(value);
  } else if (flag.real != nullptr) {
    double real;
    // Not a number is out of range, too.
    if (!absl::SimpleAtod(value, &real) ||
        !(real >= flag.min && real <= flag.max)) {
      return absl::InvalidArgumentError(
          absl::StrCat("error: --", flag.name, " wants a number from ",
                       flag.min, " to ", flag.max, ", got '", value, "'"));
    }
    *flag.real = real;
  } else {
    int number;
    if (!absl::SimpleAtoi(value, &number) || number < flag.min ||
        number > flag.max) {
      return absl::InvalidArgumentError(
          absl::StrCat("error: --", flag.name, " wants a whole number from ",
                       static_cast<int64_t>(flag.min), " to ",
                       static_cast<int64_t>(flag.max), ", got '", value, "'"));
    }
    *flag.number = number;
  }
  return absl::OkStatus();
}

absl::Status CommandLine::Parse(int argc, char** argv) const {
  const auto error = [](const auto&... parts) {
    return absl::InvalidArgumentError(absl::StrCat("error: ", parts...));
  };
  OpenStandardStreams();
  std::set<std::string> seen;
  bool only_positional = false;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (only_positional || argument.size() < 3 ||
        argument.compare(0, 2, "--") != 0) {
      if (argument == "--" && !only_positional) {
        only_positional = true;
        continue;
      }
      if (argument == "-h" && !only_positional) {
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
    const size_t equals = argument.find('=');
    const bool has_value = equals != std::string::npos;
    const std::string name =
        argument.substr(2, has_value ? equals - 2 : std::string::npos);
    if (name == "help") return absl::CancelledError(Help());
    const auto flag =
        std::find_if(flags_.begin(), flags_.end(),
                     [&](const Flag& known) { return known.name == name; });
    if (flag == flags_.end()) {
      std::vector<std::string> names;
      for (const Flag& known : flags_) names.push_back(known.name);
      return error("there is no flag --", name, SuggestName(name, names));
    }
    if (flag->repeated == nullptr && !seen.insert(name).second) {
      return error("--", name, " is given twice");
    }
    if (flag->on != nullptr) {
      if (has_value) return error("--", name, " takes no value");
      *flag->on = true;
      continue;
    }
    if (!has_value && i + 1 == argc) {
      return error("--", name, " wants a value");
    }
    REGARD_RETURN_IF_ERROR(
        Set(*flag, has_value ? argument.substr(equals + 1) : argv[++i]));
  }
  return absl::OkStatus();
}

int FinishOutput() {
  // Both are needed: an error while the buffer was flushed before stays.
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return 0;
  std::fputs("error: cannot write to standard output\n", stderr);
  return kExitFailed;
}

int ExitCode(const absl::Status& status) {
  if (status.ok()) return FinishOutput();
  const bool help = absl::IsCancelled(status);
  std::fputs(
      absl::StrCat(absl::StripSuffix(status.message(), "\n"), "\n").c_str(),
      help ? stdout : stderr);
  if (help) return FinishOutput();
  if (absl::IsInternal(status)) return kExitDiverged;
  return IsMachineFailure(status) ? kExitFailed : kExitWrongInput;
}

}  // namespace regard
