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
#include "nn/config_problems.h"
#include "nn/parameters.h"

namespace regard {

using ::google::protobuf::Descriptor;
using ::google::protobuf::DescriptorPool;
using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::MessageFactory;
using ::google::protobuf::TextFormat;

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

// A line for each option; those of an option that is a message follow it.
void AppendOptions(const Descriptor& options, const std::string& prefix,
                   std::string* out) {
  for (int i = 0; i < options.field_count(); ++i) {
    const FieldDescriptor& field = *options.field(i);
    const std::string name = absl::StrCat(prefix, std::string(field.name()));
    if (field.message_type() != nullptr) {
      AppendOptions(*field.message_type(), name + ".", out);
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
    absl::StrAppend(out, "    ", name, ": ", type, ", default ", Default(field),
                    "\n");
  }
}

// "65 parameters", or why there can be none for `widths`.
std::string Parameters(const ScorerInfo& info, const ScoreWidths& widths) {
  ConfigProblems problems;
  info.validate(*info.default_options, widths, problems);
  if (!problems.ok()) return problems.problems()[0].message;
  ParameterStore<float> store;
  info.create_float(*info.default_options, store.Root(), widths);
  const int64_t count = store.num_elements();
  return absl::StrCat(count, count == 1 ? " parameter" : " parameters");
}

}  // namespace

std::string ListScores(const AttentionRegistry& scorers,
                       const ScoreWidths& widths) {
  std::map<std::pair<int, std::string>, std::string> entries;
  for (const ScorerInfo& info : scorers.plugins()) {
    const std::pair<int, std::string> place = PlaceOf(info);
    std::string entry = absl::StrCat(place.second, "\n    ", info.description,
                                     "\n    ", Parameters(info, widths), "\n");
    if (info.position_aware) {
      absl::StrAppend(&entry, "    depends on positions\n");
    }
    if (info.uses_history) {
      absl::StrAppend(&entry,
                      "    reads earlier weights: for recurrent decoders\n");
    }
    AppendOptions(*info.default_options->GetDescriptor(), "", &entry);
    entries[place] = entry;
  }
  std::string list = absl::StrFormat(
      "Scores of a query of width %d and a key of width %d, %d head(s):\n",
      widths.query, widths.key, widths.heads);
  for (const auto& [order, entry] : entries) {
    absl::StrAppend(&list, "\n", entry);
  }
  return list;
}

}  // namespace regard
