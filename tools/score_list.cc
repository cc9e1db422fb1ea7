#include "tools/score_list.h"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "attention/attention.pb.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "google/protobuf/text_format.h"
#include "nlohmann/json.hpp"
#include "nn/parameters.h"
#include "options/config_problems.h"

namespace regard {

using ::google::protobuf::Descriptor;
using ::google::protobuf::DescriptorPool;
using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::MessageFactory;
using ::google::protobuf::TextFormat;
using Json = nlohmann::ordered_json;

namespace {

// Where a config names a score, a member of the oneof or an extension of
// `outside`, and before it the place in the list.
std::pair<int, std::string> PlaceOf(const ScorerInfo& info) {
  std::vector<const FieldDescriptor*> fields;
  DescriptorPool::generated_pool()->FindAllExtensions(
      OutsideScore::descriptor(), &fields);
  const auto* members = Attention::descriptor()->FindOneofByName("score");
  for (int i = 0; i < members->field_count(); ++i) {
    fields.push_back(members->field(i));
  }
  for (const FieldDescriptor* field : fields) {
    if (field->message_type() != info.default_options->GetDescriptor()) {
      continue;
    }
    return {
        field->number(),
        field->is_extension()
            ? absl::StrCat("outside.[", std::string(field->full_name()), "]")
            : std::string(field->name())};
  }
  return {0, info.name};
}

// The default value as a config writes it.
std::string Default(const FieldDescriptor& field) {
  if (!field.has_default_value()) return "absent";
  const Message& options = *MessageFactory::generated_factory()->GetPrototype(
      field.containing_type());
  std::string text;
  TextFormat::PrintFieldValueToString(options, &field, /*index=*/-1, &text);
  return text;
}

// Adds each option; those of an option that is a message follow it.
void AddOptions(const Descriptor& options, const std::string& prefix,
                Json* list) {
  for (int i = 0; i < options.field_count(); ++i) {
    const FieldDescriptor& field = *options.field(i);
    const std::string name = absl::StrCat(prefix, std::string(field.name()));
    if (field.message_type() != nullptr) {
      AddOptions(*field.message_type(), name + ".", list);
      continue;
    }
    std::string type(field.type_name());
    if (field.enum_type() != nullptr) {
      type.clear();
      // The first value stands for none.
      for (int k = 1; k < field.enum_type()->value_count(); ++k) {
        absl::StrAppend(&type, k == 1 ? "" : " or ",
                        std::string(field.enum_type()->value(k)->name()));
      }
    }
    list->push_back(
        {{"name", name}, {"type", type}, {"default", Default(field)}});
  }
}

// How many there are, or why there can be none for `widths`.
Json Parameters(const ScorerInfo& info, const ScoreWidths& widths) {
  ConfigProblems problems;
  info.validate(*info.default_options, widths, problems);
  if (!problems.ok()) return problems.problems()[0].message;
  ParameterStore<float> store;
  info.create_float(*info.default_options, store.Root(), widths);
  return store.num_elements();
}

std::string ParametersText(const Json& parameters) {
  if (parameters.is_string()) return parameters.get<std::string>();
  return absl::StrCat(parameters.get<int64_t>(),
                      parameters == 1 ? " parameter" : " parameters");
}

}  // namespace

Json ScoresJson(const AttentionRegistry& scorers, const ScoreWidths& widths) {
  std::map<std::pair<int, std::string>, Json> entries;
  for (const ScorerInfo& info : scorers.plugins()) {
    const std::pair<int, std::string> place = PlaceOf(info);
    Json& entry = entries[place];
    entry = {{"name", place.second},
             {"formula", info.description},
             {"parameters", Parameters(info, widths)},
             {"position_aware", info.position_aware(*info.default_options)},
             {"uses_history", info.uses_history},
             {"options", Json::array()}};
    AddOptions(*info.default_options->GetDescriptor(), "", &entry["options"]);
  }
  Json json = {{"query", widths.query},
               {"key", widths.key},
               {"heads", widths.heads},
               {"scores", Json::array()}};
  for (auto& [place, entry] : entries) {
    json["scores"].push_back(std::move(entry));
  }
  return json;
}

std::string ListScores(const AttentionRegistry& scorers,
                       const ScoreWidths& widths) {
  std::string list = absl::StrFormat(
      "Scores for queries of width %d, keys of width %d and %d head(s):\n",
      widths.query, widths.key, widths.heads);
  const auto text = [](const Json& value) { return value.get<std::string>(); };
  const Json scores = ScoresJson(scorers, widths);
  for (const Json& score : scores["scores"]) {
    absl::StrAppend(&list, "\n", text(score["name"]), "\n    ",
                    text(score["formula"]), "\n    ",
                    ParametersText(score["parameters"]), "\n");
    if (score["position_aware"] == true) {
      absl::StrAppend(&list, "    depends on positions\n");
    }
    if (score["uses_history"] == true) {
      absl::StrAppend(
          &list, "    reads earlier weights; requires a recurrent decoder\n");
    }
    for (const Json& option : score["options"]) {
      absl::StrAppend(&list, "    ", text(option["name"]), ": ",
                      text(option["type"]), ", default ",
                      text(option["default"]), "\n");
    }
  }
  return list;
}

}  // namespace regard
