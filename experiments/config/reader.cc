#include "experiments/config/reader.h"

#include <algorithm>
#include <cstddef>
#include <memory>
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
#include "experiments/config/text_checker.h"
#include "experiments/config/text_parser.h"
#include "google/protobuf/descriptor.h"
#include "nn/config_problems.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {
namespace {

using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;

constexpr int kNameCharacters = 200;

// One file, parsed alone.
struct Layer {
  ConfigText text;
  std::vector<Mention> mentions;  // without `base`
  std::unique_ptr<Message> message;
  std::string base;  // "" without one
  TextRange base_range;
};

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

// Takes the field `base` out of the layer's message and mentions.
void TakeBase(Layer* layer) {
  const FieldDescriptor* field =
      layer->message->GetDescriptor()->FindFieldByName(kBaseField);
  if (field == nullptr || field->is_repeated() ||
      field->cpp_type() != FieldDescriptor::CPPTYPE_STRING) {
    return;
  }
  const auto mention =
      std::find_if(layer->mentions.begin(), layer->mentions.end(),
                   [field](const Mention& m) { return m.field == field; });
  if (mention == layer->mentions.end()) return;
  layer->base =
      layer->message->GetReflection()->GetString(*layer->message, field);
  layer->base_range = mention->range;
  layer->mentions.erase(mention);
  layer->message->GetReflection()->ClearField(layer->message.get(), field);
}

absl::StatusOr<Layer> ParseLayer(ConfigText text, const Message& prototype) {
  if (std::optional<TextProblem> problem = FindEncodingProblem(text.text())) {
    return ProblemsOf(text, {*problem});
  }
  CheckedText checked = CheckText(text.text(), *prototype.GetDescriptor());
  if (!checked.problems.empty()) return ProblemsOf(text, checked.problems);
  const std::string present = checked.WithPresentNames(text.text());
  Layer layer{std::move(text),
              std::move(checked.mentions),
              std::unique_ptr<Message>(prototype.New()),
              "",
              {}};
  if (std::optional<TextProblem> problem =
          ParseText(present, layer.message.get())) {
    return ProblemsOf(layer.text, {*problem});
  }
  TakeBase(&layer);
  return layer;
}

// `base` as seen from the file called `name`.
std::string BesideFile(absl::string_view name, absl::string_view base) {
  const size_t slash = name.rfind('/');
  if (absl::StartsWith(base, "/") || slash == absl::string_view::npos) {
    return std::string(base);
  }
  return absl::StrCat(name.substr(0, slash + 1), base);
}

// Follows a file's bases.
class LayerReader {
 public:
  explicit LayerReader(const Message& prototype) : prototype_(prototype) {}

  // The named file first, each base after the file that names it.
  absl::StatusOr<std::vector<Layer>> Read(std::string name) {
    REGARD_RETURN_IF_ERROR(ReadOne(std::move(name)));
    while (!layers_.back().base.empty()) {
      if (layers_.size() > kMostBases) {
        return BaseProblem(
            absl::StrCat("more than ", kMostBases, " bases on one another"));
      }
      REGARD_RETURN_IF_ERROR(
          ReadOne(BesideFile(layers_.back().text.name(), layers_.back().base)));
    }
    return std::move(layers_);
  }

 private:
  absl::Status BaseProblem(absl::string_view message) const {
    const Layer& layer = layers_.back();
    return ProblemsOf(
        layer.text,
        {{layer.base_range,
          absl::StrCat("base '", Shown(layer.base), "' ", message)}});
  }

  absl::Status ReadOne(std::string name) {
    absl::StatusOr<ConfigFile> file = ReadConfigFile(name);
    if (!file.ok()) {
      if (!layers_.empty()) return BaseProblem(file.status().message());
      return absl::InvalidArgumentError(
          absl::StrCat(Shown(name), ": error: ", file.status().message()));
    }
    for (size_t i = 0; i < identities_.size(); ++i) {
      if (identities_[i] != file->identity) continue;
      std::vector<std::string> cycle;
      for (; i < layers_.size(); ++i) {
        cycle.push_back(Shown(layers_[i].text.name()));
      }
      cycle.push_back(Shown(name));
      return BaseProblem(
          absl::StrCat("is a cyclic base: ", absl::StrJoin(cycle, " -> ")));
    }
    identities_.push_back(file->identity);
    REGARD_ASSIGN_OR_RETURN(
        Layer layer,
        ParseLayer(ConfigText::File(std::move(name), std::move(file->text)),
                   prototype_));
    layers_.push_back(std::move(layer));
    return absl::OkStatus();
  }

  const Message& prototype_;
  std::vector<Layer> layers_;
  std::vector<std::pair<uint64_t, uint64_t>> identities_;
};

absl::StatusOr<std::vector<Layer>> ReadLayers(const ConfigSource& source,
                                              const Message& prototype) {
  if (!source.embedded.has_value()) {
    return LayerReader(prototype).Read(source.name);
  }
  REGARD_ASSIGN_OR_RETURN(
      Layer layer,
      ParseLayer(ConfigText::File(source.name, *source.embedded), prototype));
  if (!layer.base.empty()) {
    return ProblemsOf(layer.text, {{layer.base_range,
                                    "an embedded config cannot have a base"}});
  }
  std::vector<Layer> layers;
  layers.push_back(std::move(layer));
  return layers;
}

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
    CheckedText checked = ApplyOverride(text.text(), config);
    const bool sets_base =
        std::any_of(checked.mentions.begin(), checked.mentions.end(),
                    [](const Mention& m) { return m.Path() == kBaseField; });
    if (sets_base && checked.problems.empty()) {
      checked.problems.push_back(
          {checked.mentions.front().range,
           "a base is named by a file; give that file as the config"});
    }
    for (const TextProblem& problem : checked.problems) {
      lines.push_back(text.Diagnostic(problem));
    }
    origins->Add(text, checked.mentions);
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
  REGARD_ASSIGN_OR_RETURN(std::vector<Layer> layers,
                          ReadLayers(source, *config));
  ConfigOrigins origins;
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
    for (const Mention& mention : layer->mentions) {
      if (mention.is_list) ClearList(mention.Path(), config);
    }
    Combine(*layer->message, config);
    origins.Add(std::move(layer->text), layer->mentions);
  }
  std::vector<ConfigText> texts;
  for (const std::string& argument : overrides) {
    texts.push_back(ConfigText::Override(argument));
  }
  REGARD_RETURN_IF_ERROR(ApplyOverrides(texts, config, &origins));
  return origins;
}

}  // namespace regard
