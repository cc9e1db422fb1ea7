#include "experiments/testing/random_combination.h"

#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "experiments/testing/random_fields.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "google/protobuf/text_format.h"
#include "third_party/abseil_backport/check.h"

namespace regard::testing {
namespace {

using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::Reflection;
using ::google::protobuf::TextFormat;

// Data and models with sequences of up to six positions. Some of their messages
// are then replaced by random ones.
constexpr const char* kModels[] = {
    R"(data { parity { train: 8 dev: 2 test: 2 min_length: 1 max_length: 5
                       min_test_length: 2 max_test_length: 5 } }
       model { token_classifier { transformer { attention { attention {} } } } }
    )",
    R"(data { associative_recall { train: 8 dev: 2 test: 2 vocabulary: 8
                                   length: 6 pairs: 1 } }
       model { token_classifier { transformer { mixer {} } } })",
    R"(data { repeated_tokens { train: 8 dev: 2 test: 2 symbols: 5 length: 2
                                most_before: 1 most_gap: 1 } }
       model { language_model { unit: WORDS examples: LINES block: 8
                                transformer { attention { attention {} } } } }
    )",
    R"(data { reverse { train: 8 dev: 2 test: 2 symbols: 5 max_length: 4
                        max_test_length: 4 } }
       model { transformer { attention { attention {} } } })",
    R"(data { copy { train: 8 dev: 2 test: 2 symbols: 5 min_length: 1
                     max_length: 4 } }
       model { transformer { attention { attention {} }
                             cross_attention { attention {} } }
               transformer_encoder { attention {} }
               transformer_decoder { mixer {} } })",
    R"(data { copy { train: 8 dev: 2 test: 2 symbols: 5 min_length: 1
                     max_length: 4 } }
       model { transformer { attention {} } encoder {} })",
    R"(data { reverse { train: 8 dev: 2 test: 2 symbols: 5 max_length: 4
                        max_test_length: 4 } }
       model { decoder { context: ATTENTION } encoder {} attention {} })",
    R"(data { reverse { train: 8 dev: 2 test: 2 symbols: 5 max_length: 4
                        max_test_length: 4 } }
       model { decoder {} attention {}
               transformer_encoder { attention { attention {} } } })",
    R"(data { shapes { train: 8 dev: 2 test: 2 size: 8 } }
       model { vision_transformer {
                 patch: 4 transformer { attention { attention {} } } } })",
    R"(data { repeated_tokens { train: 16 dev: 2 test: 2 symbols: 5 length: 2
                                most_before: 1 most_gap: 1 } }
       model { bert { masked_words { block: 8 share: 0.5 }
                      transformer { attention { attention {} } } } })",
    R"(data { nadaraya_watson { points: 8 } }
       model { nadaraya_watson {} attention {} })",
};

constexpr char kTraining[] =
    R"(search { beam: 2 max_length: 4 }
       training { epochs: 2 max_updates: 2 batch_size: 4 checkpoint_every: 1
                  evaluate_every: 0 })";

// The types of the messages that are replaced by random ones, anywhere in a
// model.
constexpr const char* kDrawn[] = {
    "regard.Attention",
    "regard.MixerConfig",
    "regard.MultiHead",
    "regard.NadarayaWatson",
    "regard.RecurrentDecoderConfig",
    "regard.RecurrentEncoderConfig",
    "regard.TransformerConfig",
};

bool IsDrawnMessage(const Message& message) {
  for (const char* name : kDrawn) {
    if (message.GetDescriptor()->full_name() == name) return true;
  }
  return false;
}

// Returns the messages in `message`, each before the messages within it.
std::vector<Message*> MessagesIn(Message* message) {
  std::vector<Message*> messages = {message};
  const Reflection& fields = *message->GetReflection();
  std::vector<const FieldDescriptor*> present;
  fields.ListFields(*message, &present);
  for (const FieldDescriptor* field : present) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    std::vector<Message*> inner;
    if (!field->is_repeated()) {
      inner.push_back(fields.MutableMessage(message, field));
    }
    for (int i = 0;
         field->is_repeated() && i < fields.FieldSize(*message, field); ++i) {
      inner.push_back(fields.MutableRepeatedMessage(message, field, i));
    }
    for (Message* each : inner) {
      for (Message* found : MessagesIn(each)) messages.push_back(found);
    }
  }
  return messages;
}

bool IsNumber(const FieldDescriptor& field) {
  return field.cpp_type() == FieldDescriptor::CPPTYPE_INT32 ||
         field.cpp_type() == FieldDescriptor::CPPTYPE_INT64 ||
         field.cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE;
}

// Changes one of the numbers that the config sets. The new value may not match
// other values, and may be out of range.
void ChangeANumber(RandomFields& random, Message* model) {
  std::vector<std::pair<Message*, const FieldDescriptor*>> numbers;
  for (Message* message : MessagesIn(model)) {
    std::vector<const FieldDescriptor*> present;
    message->GetReflection()->ListFields(*message, &present);
    for (const FieldDescriptor* field : present) {
      if (IsNumber(*field)) numbers.emplace_back(message, field);
    }
  }
  if (numbers.empty()) return;
  const auto [message, field] =
      numbers[random.UniformInt(static_cast<int64_t>(numbers.size()))];
  constexpr const char* kNumbers[] = {"-1", "0", "3", "7"};
  const char* const number = kNumbers[random.UniformInt(std::size(kNumbers))];
  REGARD_CHECK(TextFormat::ParseFieldValueFromString(number, field, message))
      << std::string(field->full_name());
}

}  // namespace

Experiment RandomCombination(uint64_t seed) {
  RandomFields random("");
  random.Seed(seed);
  Experiment config;
  REGARD_CHECK(TextFormat::ParseFromString(
      absl::StrCat(kModels[random.UniformInt(std::size(kModels))], kTraining),
      &config));
  config.set_seed(seed);
  config.set_num_shards(1 + static_cast<int>(random.UniformInt(3)));
  // Few combinations of many options are valid, so most configs set each option
  // with a low probability.
  constexpr int kRarities[] = {3, 6, 12, 24};
  random.set_rarity(kRarities[random.UniformInt(std::size(kRarities))]);
  // Begins with inner messages, because an outer message may replace them.
  std::vector<Message*> messages = MessagesIn(config.mutable_model());
  for (auto message = messages.rbegin(); message != messages.rend();
       ++message) {
    if (IsDrawnMessage(**message)) random.Fill(*message);
  }
  if (random.UniformInt(4) == 0) {
    random.Fill(config.mutable_optimizer());
  } else {
    config.mutable_optimizer()->mutable_adam();
  }
  if (random.UniformInt(4) == 0) ChangeANumber(random, config.mutable_model());
  return config;
}

}  // namespace regard::testing
