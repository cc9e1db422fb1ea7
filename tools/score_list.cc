#include "tools/score_list.h"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "attention/attention.pb.h"
#include "attention/forget.pb.h"
#include "attention/head_outputs/head_output.pb.h"
#include "attention/latent.pb.h"
#include "attention/mixers/mixer.pb.h"
#include "attention/multi_head.pb.h"
#include "attention/normalizers/normalizer.pb.h"
#include "attention/position_encodings/position_encoding.pb.h"
#include "attention/score_maps/score_map.pb.h"
#include "attention/selections/selection.pb.h"
#include "attention/sink.pb.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "google/protobuf/text_format.h"
#include "nlohmann/json.hpp"
#include "nn/parameters.h"
#include "options/config_problems.h"
#include "options/option_registry.h"

namespace regard {

using ::google::protobuf::Descriptor;
using ::google::protobuf::DescriptorPool;
using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::MessageFactory;
using ::google::protobuf::OneofDescriptor;
using ::google::protobuf::TextFormat;
using Json = nlohmann::ordered_json;

namespace {

// A kind of plug-in, such as normalizers.
struct Kind {
  const char* name;   // name in JSON
  const char* title;  // title in text
  const char* place;  // position in a config
};

constexpr Kind kNormalizers = {"normalizers", "Normalizers",
                               "attention { normalizer { .. } }"};
constexpr Kind kPositionEncodings = {"position_encodings", "Position encodings",
                                     "attention { position_encoding { .. } }"};
constexpr Kind kScoreMaps = {"score_maps", "Score maps",
                             "attention { map_before { .. } }, or map_after"};
constexpr Kind kKeySelections = {"key_selections", "Key selections",
                                 "attention { selection { .. } }"};
constexpr Kind kHeadOutputs = {"head_outputs", "Head outputs",
                               "head_output { .. } of multi-head attention"};
constexpr Kind kMixers = {"mixers", "State mixers",
                          "transformer { mixer { .. } }"};

// A part of attention that is a single field, rather than a choice of plug-ins.
struct Part {
  const char* place;  // position in a config
  const char* formula;
  const Descriptor* options;
};

std::vector<Part> Parts() {
  return {{"attention { sink {} }", "exp(s_i) / (exp(z) + sum_j exp(s_j))",
           Sink::descriptor()},
          {"attention { forget {} }",
           "s_ij + log f_j+1 + .. + log f_i, with f_t = sigmoid(w . x_t + b)",
           Forget::descriptor()},
          {"query_key_norm {}", "q / sqrt(mean(q^2) + epsilon) * w, and so k",
           QueryKeyNormConfig::descriptor()},
          {"latent {}",
           "k_j = [K c_j; rotary(R x_j)], v_j = V c_j, with c_j = "
           "norm(W x_j)",
           Latent::descriptor()}};
}

// Returns the text with which a config selects the plug-in of `options`. It is
// the name of a member of the oneof `choice`, or of an extension of the member
// `outside`. The first element of the result is the position of the plug-in in
// the list.
std::pair<int, std::string> PlaceOf(const Message& options,
                                    const OneofDescriptor& choice) {
  std::vector<const FieldDescriptor*> fields;
  for (int i = 0; i < choice.field_count(); ++i) {
    const FieldDescriptor* const member = choice.field(i);
    if (member->name() == "outside") {
      DescriptorPool::generated_pool()->FindAllExtensions(
          member->message_type(), &fields);
    } else {
      fields.push_back(member);
    }
  }
  for (const FieldDescriptor* field : fields) {
    if (field->message_type() != options.GetDescriptor()) continue;
    return {
        field->number(),
        field->is_extension()
            ? absl::StrCat("outside.[", std::string(field->full_name()), "]")
            : std::string(field->name())};
  }
  return {0, TypeName(options)};
}

// Returns the default value in the syntax of configs.
std::string Default(const FieldDescriptor& field) {
  if (!field.has_default_value()) return "absent";
  const Message& options = *MessageFactory::generated_factory()->GetPrototype(
      field.containing_type());
  std::string text;
  TextFormat::PrintFieldValueToString(options, &field, /*index=*/-1, &text);
  return text;
}

// Adds each option. Replaces an option that is a message by the options within
// it.
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
      // The first value of each enum means "unspecified".
      for (int k = 1; k < field.enum_type()->value_count(); ++k) {
        absl::StrAppend(&type, k == 1 ? "" : " or ",
                        std::string(field.enum_type()->value(k)->name()));
      }
    }
    list->push_back(
        {{"name", name}, {"type", type}, {"default", Default(field)}});
  }
}

// Returns the number of parameters of a score, or the reason why it does not
// support `widths`.
Json Parameters(const ScorerInfo& info, const ScoreWidths& widths) {
  ConfigProblems problems;
  info.validate(*info.default_options, widths, problems);
  if (!problems.ok()) return problems.problems()[0].message;
  ParameterStore<float> store;
  info.create_float(*info.default_options, store.Root(), widths);
  return store.num_elements();
}

// Adds an array of the plug-ins in a registry to `json`, in the order of the
// members of the oneof. `add` adds fields that only this kind of plug-in has.
template <typename Config, typename Info, typename Add>
void AddPlugins(const char* name, const PluginRegistry<Config, Info>& registry,
                Add add, Json* json) {
  std::map<std::pair<int, std::string>, Json> entries;
  for (const Info& info : registry.plugins()) {
    const std::pair<int, std::string> place =
        PlaceOf(*info.default_options, *Config::descriptor()->oneof_decl(0));
    Json& entry = entries[place];
    entry = {{"name", place.second}, {"formula", info.description}};
    add(info, &entry);
    entry["options"] = Json::array();
    AddOptions(*info.default_options->GetDescriptor(), "", &entry["options"]);
  }
  Json& list = (*json)[name] = Json::array();
  for (auto& [place, entry] : entries) list.push_back(std::move(entry));
}

std::string ParametersText(const Json& parameters) {
  if (parameters.is_string()) return parameters.get<std::string>();
  return absl::StrCat(parameters.get<int64_t>(),
                      parameters == 1 ? " parameter" : " parameters");
}

}  // namespace

Json ScoresJson(const AttentionRegistry& scorers, const ScoreWidths& widths) {
  Json json = {
      {"query", widths.query}, {"key", widths.key}, {"heads", widths.heads}};
  AddPlugins(
      "scores", scorers,
      [&](const ScorerInfo& info, Json* entry) {
        (*entry)["parameters"] = Parameters(info, widths);
        (*entry)["position_aware"] = info.position_aware(*info.default_options);
        (*entry)["uses_history"] = info.uses_history;
      },
      &json);
  const auto nothing = [](const auto&, Json*) {};
  AddPlugins(kNormalizers.name, scorers.normalizers, nothing, &json);
  AddPlugins(kPositionEncodings.name, scorers.position_encodings, nothing,
             &json);
  AddPlugins(kScoreMaps.name, scorers.score_maps, nothing, &json);
  AddPlugins(kKeySelections.name, scorers.selections, nothing, &json);
  AddPlugins(kHeadOutputs.name, scorers.head_outputs, nothing, &json);
  AddPlugins(kMixers.name, scorers.mixers, nothing, &json);
  Json& parts = json["parts"] = Json::array();
  for (const Part& part : Parts()) {
    Json options = Json::array();
    AddOptions(*part.options, "", &options);
    parts.push_back({{"place", part.place},
                     {"formula", part.formula},
                     {"options", std::move(options)}});
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
  for (const Kind& kind : {kNormalizers, kPositionEncodings, kScoreMaps,
                           kKeySelections, kHeadOutputs, kMixers}) {
    absl::StrAppend(&list, "\n", kind.title, ": ", kind.place, "\n\n");
    for (const Json& plugin : scores[kind.name]) {
      absl::StrAppendFormat(&list, "  %-17s %s\n", text(plugin["name"]),
                            text(plugin["formula"]));
    }
  }
  absl::StrAppend(&list, "\nOther parts:\n\n");
  for (const Json& part : scores["parts"]) {
    absl::StrAppendFormat(&list, "  %-23s %s\n", text(part["place"]),
                          text(part["formula"]));
  }
  return list;
}

}  // namespace regard
