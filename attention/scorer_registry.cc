#include "attention/scorer_registry.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;

void ScorerRegistry::Insert(ScorerInfo info) {
  const auto position = std::lower_bound(
      scorers_.begin(), scorers_.end(), info,
      [](const ScorerInfo& a, const ScorerInfo& b) { return a.name < b.name; });
  REGARD_CHECK(position == scorers_.end() || position->name != info.name)
      << info.name << " is registered twice";
  scorers_.insert(position, std::move(info));
}

const Message* ScorerRegistry::ChosenOptions(const Attention& config) {
  const FieldDescriptor* chosen =
      config.GetReflection()->GetOneofFieldDescriptor(
          config, Attention::descriptor()->FindOneofByName("score"));
  if (chosen == nullptr) return nullptr;
  if (!config.has_outside()) {
    return &config.GetReflection()->GetMessage(config, chosen);
  }
  std::vector<const FieldDescriptor*> extensions;
  config.outside().GetReflection()->ListFields(config.outside(), &extensions);
  if (extensions.size() != 1) return nullptr;
  return &config.outside().GetReflection()->GetMessage(config.outside(),
                                                       extensions[0]);
}

const ScorerInfo* ScorerRegistry::Find(const Message* options) const {
  if (options == nullptr) return nullptr;
  const std::string name(options->GetDescriptor()->full_name());
  for (const ScorerInfo& info : scorers_) {
    if (info.name == name) return &info;
  }
  return nullptr;
}

namespace {

// The path of the chosen options: "dot", or "outside.[lab.my_score]".
std::string OptionsPath(const Attention& config) {
  const FieldDescriptor* chosen =
      config.GetReflection()->GetOneofFieldDescriptor(
          config, Attention::descriptor()->FindOneofByName("score"));
  if (!config.has_outside()) return std::string(chosen->name());
  std::vector<const FieldDescriptor*> extensions;
  config.outside().GetReflection()->ListFields(config.outside(), &extensions);
  return absl::StrCat("outside.[", extensions.at(0)->full_name(), "]");
}

}  // namespace

void ScorerRegistry::Validate(const Attention& config,
                              const ScoreWidths& widths,
                              ConfigProblems& problems) const {
  problems.RequireInRange("dropout", config.dropout(), 0, 0.999);
  const Message* options = ChosenOptions(config);
  if (options == nullptr) {
    problems.Add(config.has_outside() ? "outside" : "",
                 config.has_outside()
                     ? "`outside` holds exactly one score, as in outside { "
                       "[lab.my_score] {} }"
                     : "no score is chosen; give one, as in additive { width: "
                       "32 }");
    return;
  }
  const std::string path = OptionsPath(config);
  const ScorerInfo* info = Find(options);
  if (info == nullptr) {
    std::string known;
    for (const ScorerInfo& scorer : scorers_) {
      absl::StrAppend(&known, known.empty() ? "" : ", ", scorer.name);
    }
    problems.Add(path, absl::StrCat(std::string(options->GetTypeName()),
                                    " is not linked into this program, which "
                                    "knows ",
                                    known));
    return;
  }
  const ConfigProblems::Scope scope(problems, path);
  info->validate(*options, widths, problems);
}

template <>
std::unique_ptr<ScoringFunction<float>> ScorerRegistry::Create(
    const Attention& config, ParameterScope<float> scope,
    const ScoreWidths& widths) const {
  const Message* options = ChosenOptions(config);
  const ScorerInfo* info = Find(options);
  REGARD_CHECK(info != nullptr) << "an unvalidated attention config";
  return info->create_float(*options, scope, widths);
}

template <>
std::unique_ptr<ScoringFunction<double>> ScorerRegistry::Create(
    const Attention& config, ParameterScope<double> scope,
    const ScoreWidths& widths) const {
  const Message* options = ChosenOptions(config);
  const ScorerInfo* info = Find(options);
  REGARD_CHECK(info != nullptr) << "an unvalidated attention config";
  return info->create_double(*options, scope, widths);
}

}  // namespace regard
