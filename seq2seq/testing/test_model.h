// A small model made from the text of its configs, for tests.
#ifndef SEQ2SEQ_TESTING_TEST_MODEL_H_
#define SEQ2SEQ_TESTING_TEST_MODEL_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "attention/attention.pb.h"
#include "attention/attention_registry.h"
#include "attention/scoring/built_in_scores.h"
#include "autodiff/random.h"
#include "autodiff/shape.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "nn/parameters.h"
#include "options/config_problems.h"
#include "seq2seq/encoder_decoder.h"
#include "seq2seq/seq2seq.pb.h"
#include "seq2seq/seq2seq_validation.h"

namespace regard {

// The configs of a recurrent model, as text.
struct RecurrentConfigTexts {
  const char* encoder;
  const char* attention;  // null without attention
  const char* decoder;
};

inline constexpr int32_t kSourceWords = 9;
inline constexpr int32_t kTargetWords = 8;

template <typename Message>
Message Parse(const char* text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message))
      << text;
  return message;
}

// A model with random parameters in [-0.8, 0.8], so that outputs differ clearly
// between inputs.
template <typename T>
class TestModel {
 public:
  explicit TestModel(const RecurrentConfigTexts& configs)
      : TestModel(ConfigOf(configs)) {}
  // `config` is the text of an EncoderDecoderConfig.
  explicit TestModel(const char* config, int32_t target_words = kTargetWords)
      : TestModel(Parse<EncoderDecoderConfig>(config), target_words) {}
  explicit TestModel(const EncoderDecoderConfig& config,
                     int32_t target_words = kTargetWords) {
    AttentionRegistry scorers;
    RegisterBuiltInScores(scorers);
    ConfigProblems problems;
    ValidateEncoderDecoder(config, scorers, problems);
    for (const ConfigProblems::Problem& problem : problems.problems()) {
      ADD_FAILURE() << problem.path << ": " << problem.message;
    }
    model_ = MakeModel<T>(config, scorers,
                          {.source = kSourceWords, .target = target_words},
                          store_.Root());
    store_.Finalize(3);
    const RandomStream random(5, "values");
    for (const ParameterInfo& info : store_.parameters()) {
      for (int64_t i = 0; i < info.size(); ++i) {
        const auto at = static_cast<size_t>(info.offset + i);
        store_.values()[at] = static_cast<T>(1.6 * random.UniformAt(at) - 0.8);
      }
    }
  }

  const EncoderDecoder<T>& operator*() const { return model_; }
  const EncoderDecoder<T>* operator->() const { return &model_; }
  const OutputHead<T>& head() const { return model_.decoder->head(); }
  ParameterStore<T>& store() { return store_; }
  const ParameterStore<T>& store() const { return store_; }

  // Returns the state before the first word of one or more sources.
  DecoderState<T> Begin(Forward<T>& forward, absl::Span<const int32_t> ids,
                        absl::Span<const int32_t> lengths) const {
    return model_.decoder->Begin(forward,
                                 model_.encoder->Encode(forward, ids, lengths));
  }

  absl::Span<T> value(absl::string_view name) {
    return store_.value(*store_.FindByName(name));
  }
  const Shape& shape(absl::string_view name) const {
    return store_.info(*store_.FindByName(name)).shape;
  }

 private:
  static EncoderDecoderConfig ConfigOf(const RecurrentConfigTexts& configs) {
    EncoderDecoderConfig config;
    *config.mutable_encoder() = Parse<RecurrentEncoderConfig>(configs.encoder);
    *config.mutable_decoder() = Parse<RecurrentDecoderConfig>(configs.decoder);
    if (configs.attention != nullptr) {
      *config.mutable_attention() = Parse<Attention>(configs.attention);
    }
    return config;
  }

  ParameterStore<T> store_;
  EncoderDecoder<T> model_;
};

}  // namespace regard

#endif  // SEQ2SEQ_TESTING_TEST_MODEL_H_
