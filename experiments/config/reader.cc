#include "experiments/config/reader.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "experiments/config/config_file.h"
#include "experiments/config/config_text.h"
#include "experiments/config/override.h"
#include "experiments/config/text_reader.h"
#include "experiments/config/token_stream.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/io/tokenizer.h"
#include "nn/config_problems.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {
namespace {

using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;

constexpr int kNameCharacters = 200;

std::string Shown(absl::string_view name) {
  return Printable(name, kNameCharacters);
}

// The diagnostics of all `problems`, as many as were looked for.
absl::Status ProblemsOf(const ConfigText& text,
                        absl::Span<const TextProblem> problems) {
  std::vector<std::string> lines;
  for (const TextProblem& problem : problems) {
    lines.push_back(text.Diagnostic(problem));
  }
  if (lines.size() == kMostProblems) {
    lines.push_back(absl::StrCat(Shown(text.name()), ": the first ",
                                 kMostProblems, " problems are shown"));
  }
  return absl::InvalidArgumentError(absl::StrJoin(lines, "\n"));
}

// `base` as seen from the file called `name`.
std::string BesideFile(absl::string_view name, absl::string_view base) {
  const size_t slash = name.rfind('/');
  if (absl::StartsWith(base, "/") || slash == absl::string_view::npos) {
    return std::string(base);
  }
  return absl::StrCat(name.substr(0, slash + 1), base);
}

// The field `base` of a text.
struct Base {
  std::string path;
  TextRange range;  // of the field's name
};

// What `text` extends, which is needed before the text is read. Of a broken
// text, the answer is unspecified.
std::optional<Base> FindBase(absl::string_view text) {
  std::vector<TextProblem> problems;
  TokenStream tokens(text, 0, &problems);
  while (tokens.Peek().kind != Token::Kind::kEnd) {
    if (tokens.IsOpening()) {
      tokens.SkipBracketed();
      continue;
    }
    const Token name = tokens.Next();
    if (tokens.Text(name) != kBaseField || !tokens.TryConsume(':')) continue;
    Base base{"", name.range};
    while (tokens.Peek().kind == Token::Kind::kString) {
      google::protobuf::io::Tokenizer::ParseStringAppend(
          std::string(tokens.Text(tokens.Next())), &base.path);
    }
    return base;
  }
  return std::nullopt;
}

// Reads a file over its bases.
class BasesReader {
 public:
  BasesReader(Message* config, ConfigOrigins* origins)
      : config_(*config), origins_(*origins) {}

  absl::Status ReadFile(const std::string& name) {
    absl::StatusOr<ConfigText> text = Open(name);
    if (!text.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(Shown(name), ": error: ", text.status().message()));
    }
    return Read(*text);
  }

  // The base is read first. Its problems are shown if the text has none.
  absl::Status Read(const ConfigText& text) {
    if (const std::optional<TextProblem> problem =
            FindEncodingProblem(text.text())) {
      return ProblemsOf(text, {*problem});
    }
    const std::optional<Base> base = FindBase(text.text());
    const absl::Status base_status =
        base.has_value() ? ReadBase(text, *base) : absl::OkStatus();
    origins_.Add(text);
    const std::vector<TextProblem> problems =
        ReadText(text.text(), &config_, &origins_);
    if (!problems.empty()) return ProblemsOf(text, problems);
    if (const FieldDescriptor* field =
            config_.GetDescriptor()->FindFieldByName(kBaseField)) {
      config_.GetReflection()->ClearField(&config_, field);
      origins_.Forget(kBaseField);
    }
    return base_status;
  }

 private:
  // An error says why not, without the name.
  absl::StatusOr<ConfigText> Open(const std::string& name) {
    REGARD_ASSIGN_OR_RETURN(ConfigFile file, ReadConfigFile(name));
    const auto same =
        std::find(identities_.begin(), identities_.end(), file.identity);
    std::vector<std::string> cycle(
        names_.begin() + (same - identities_.begin()), names_.end());
    names_.push_back(Shown(name));
    identities_.push_back(file.identity);
    if (cycle.empty()) {
      return ConfigText::File(name, std::move(file.text));
    }
    return absl::InvalidArgumentError(
        absl::StrCat("is a cyclic base: ", absl::StrJoin(cycle, " -> "), " -> ",
                     names_.back()));
  }

  absl::Status ReadBase(const ConfigText& text, const Base& base) {
    if (base.path.empty()) return absl::OkStatus();
    // An embedded text has not been opened.
    if (names_.empty()) {
      return ProblemsOf(
          text, {{base.range, "an embedded config cannot have a base"}});
    }
    absl::StatusOr<ConfigText> opened =
        names_.size() > kMostBases
            ? absl::InvalidArgumentError(absl::StrCat("more than ", kMostBases,
                                                      " bases on one another"))
            : Open(BesideFile(text.name(), base.path));
    if (opened.ok()) return Read(*opened);
    return ProblemsOf(
        text, {{base.range, absl::StrCat("base '", Shown(base.path), "' ",
                                         opened.status().message())}});
  }

  Message& config_;
  ConfigOrigins& origins_;
  // The files that are open, each a base of the one before.
  std::vector<std::string> names_;
  std::vector<std::pair<uint64_t, uint64_t>> identities_;
};

absl::Status RequireFields(const Message& config,
                           const ConfigOrigins& origins) {
  if (config.IsInitialized()) return absl::OkStatus();
  std::vector<std::string> missing;
  config.FindInitializationErrors(&missing);
  ConfigProblems problems;
  for (const std::string& path : missing) {
    // Protobuf puts extensions in parentheses.
    problems.Add(absl::StrReplaceAll(path, {{"(", "["}, {")", "]"}}),
                 "must be set");
  }
  return LocateProblems(problems, origins);
}

}  // namespace

absl::Status ApplyOverrides(absl::Span<const ConfigText> overrides,
                            Message* config, ConfigOrigins* origins) {
  std::vector<std::string> lines;
  for (const ConfigText& text : overrides) {
    origins->Add(text);
    std::vector<TextProblem> problems =
        ApplyOverride(text.text(), config, origins);
    const std::string base = absl::StrCat(kBaseField, "=");
    if (problems.empty() && absl::StartsWith(text.text(), base)) {
      problems.push_back(
          {{0, base.size() - 1},
           "a base is named by a file; give that file as the config"});
    }
    for (const TextProblem& problem : problems) {
      lines.push_back(text.Diagnostic(problem));
    }
  }
  if (!lines.empty()) {
    return absl::InvalidArgumentError(absl::StrJoin(lines, "\n"));
  }
  return RequireFields(*config, *origins);
}

absl::StatusOr<ConfigOrigins> ReadConfig(
    const ConfigSource& source, absl::Span<const std::string> overrides,
    Message* config) {
  config->Clear();
  ConfigOrigins origins;
  BasesReader reader(config, &origins);
  REGARD_RETURN_IF_ERROR(
      source.embedded.has_value()
          ? reader.Read(ConfigText::File(source.name, *source.embedded))
          : reader.ReadFile(source.name));
  std::vector<ConfigText> texts;
  for (const std::string& argument : overrides) {
    texts.push_back(ConfigText::Override(argument));
  }
  REGARD_RETURN_IF_ERROR(ApplyOverrides(texts, config, &origins));
  return origins;
}

}  // namespace regard
