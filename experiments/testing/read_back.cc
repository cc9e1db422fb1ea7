#include "experiments/testing/read_back.h"

#include "absl/strings/str_cat.h"
#include "experiments/tasks/experiment_config.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "google/protobuf/text_format.h"
#include "google/protobuf/util/message_differencer.h"
#include "options/config_options.pb.h"
#include "options/config_problems.h"
#include "options/reader.h"
#include "options/resolved.h"
#include "third_party/abseil_backport/check.h"

namespace regard::testing {
namespace {

using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::Reflection;

// Sets missing fields to their default values, as in a resolved config.
void GiveDefaults(Message* message, bool within_overlay) {
  const Reflection& fields = *message->GetReflection();
  for (const FieldDescriptor* field : FieldsAndExtensions(*message)) {
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      const bool inner =
          within_overlay || field->options().GetExtension(overlay);
      if (field->is_repeated()) {
        for (int i = 0; i < fields.FieldSize(*message, field); ++i) {
          GiveDefaults(fields.MutableRepeatedMessage(message, field, i), inner);
        }
      } else if (fields.HasField(*message, field)) {
        GiveDefaults(fields.MutableMessage(message, field), inner);
      }
    } else if (!within_overlay && field->has_default_value() &&
               !fields.HasField(*message, field) &&
               field->real_containing_oneof() == nullptr) {
      const std::string value = PrintedValue(*message, *field, -1);
      REGARD_CHECK(google::protobuf::TextFormat::ParseFieldValueFromString(
          value, field, message));
    }
  }
}

}  // namespace

std::string FindRoundTripProblem(const Experiment& config,
                                 const Plugins& plugins) {
  const std::string text = ResolvedConfig(config, ConfigOrigins());
  Experiment back;
  const auto origins = ReadConfig({"resolved", text}, {}, &back);
  if (!origins.ok()) return std::string(origins.status().message());
  ConfigProblems problems;
  ValidateExperiment(back, plugins, problems);
  if (!problems.ok()) {
    return std::string(LocateProblems(problems, *origins).message());
  }
  Experiment before = config;
  GiveDefaults(&before, /*within_overlay=*/false);
  GiveDefaults(&back, /*within_overlay=*/false);
  std::string differences;
  google::protobuf::util::MessageDifferencer differencer;
  differencer.ReportDifferencesToString(&differences);
  return differencer.Compare(before, back)
             ? ""
             : absl::StrCat(differences, "of\n", text);
}

}  // namespace regard::testing
