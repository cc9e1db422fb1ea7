#include "tools/peers/translators.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "attention/attention.pb.h"
#include "attention/transformer/transformer.pb.h"
#include "data/parallel_corpus.h"
#include "data/text/vocabulary.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "seq2seq/decoding/search.h"
#include "seq2seq/decoding/search.pb.h"
#include "seq2seq/encoder_decoder.h"
#include "seq2seq/seq2seq.pb.h"
#include "seq2seq/translation_model.h"
#include "seq2seq/translator.h"
#include "third_party/abseil_backport/check.h"
#include "tools/peers/search_work.h"
#include "tools/peers/step_data.h"

namespace regard {

namespace {

constexpr uint64_t kSeed = 1;

EncoderDecoderConfig ModelOf(const WorkOptions& options) {
  EncoderDecoderConfig config;
  if (options.kind.starts_with("transformer")) {
    // The Transformer of Dive into Deep Learning 0.17.
    *config.mutable_transformer() = TransformerOf(options);
    config.mutable_transformer()->set_norm_order(TransformerConfig::POST);
    return config;
  }
  config.mutable_attention()->mutable_additive();
  RecurrentEncoderConfig& encoder = *config.mutable_encoder();
  encoder.set_embedding(static_cast<int>(options.embedding));
  encoder.set_hidden(static_cast<int>(options.hidden));
  encoder.set_layers(static_cast<int>(options.layers));
  encoder.set_bidirectional(options.bidirectional);
  RecurrentDecoderConfig& decoder = *config.mutable_decoder();
  decoder.set_embedding(static_cast<int>(options.embedding));
  decoder.set_hidden(static_cast<int>(options.hidden));
  decoder.set_layers(static_cast<int>(options.layers));
  if (options.bidirectional) {
    decoder.set_initial_state(RecurrentDecoderConfig::PROJECTED);
    decoder.set_readout(RecurrentDecoderConfig::STATE_CONTEXT_EMBEDDING);
  }
  return config;
}

std::string WordOf(int32_t id) { return absl::StrCat("w", id); }

Vocabulary MakeVocabulary(int64_t size) {
  std::string text = Vocabulary().ToText();
  for (auto id = Vocabulary::kReserved; id < size; ++id) {
    absl::StrAppend(&text, WordOf(id), "\n");
  }
  absl::StatusOr<Vocabulary> vocabulary = Vocabulary::Parse(text, "words");
  REGARD_CHECK(vocabulary.ok()) << vocabulary.status().ToString();
  return *std::move(vocabulary);
}

// Returns the words of a sentence without its final <eos>.
std::vector<std::string> WordsOf(const std::vector<int32_t>& ids) {
  std::vector<std::string> words;
  for (size_t i = 0; i + 1 < ids.size(); ++i) words.push_back(WordOf(ids[i]));
  return words;
}

class TranslationSearch : public SearchedModel {
 public:
  explicit TranslationSearch(const WorkOptions& options) {
    model_ = MakeModel<float>(ModelOf(options), BuiltInScorers(),
                              {.source = options.source_vocabulary,
                               .target = options.target_vocabulary},
                              parameters_.Root());
    parameters_.Finalize(kSeed);
    // A translation has as many ids as its source.
    search_.set_beam(static_cast<int>(options.beam));
    search_.set_max_length_ratio(1);
    search_.set_max_length(0);
    // Prevents the end of a translation before its last id, so that all
    // translations have the same length. In other frameworks, only the bias
    // prevents it. Without min_length, the last id would still be <eos>.
    search_.set_min_length(static_cast<int>(options.source_time));
    const absl::Span<float> bias =
        parameters_.value(*parameters_.FindByName("decoder.output.bias"));
    for (const int32_t id :
         {Vocabulary::kPad, Vocabulary::kBegin, Vocabulary::kEnd}) {
      bias[static_cast<size_t>(id)] = -1e4F;
    }
    for (SentencePairIds& pair : PairData(options)) {
      sources_.push_back(std::move(pair.source));
    }
  }

  ParameterStore<float>& parameters() override { return parameters_; }

  std::vector<std::vector<Hypothesis>> FindHypotheses(
      Forward<float>& forward, size_t begin, size_t end) const override {
    return TranslateIds(
        {{&model_, &forward}},
        absl::MakeConstSpan(sources_).subspan(begin, end - begin), search_,
        /*want_weights=*/false);
  }

 private:
  SearchConfig search_;
  ParameterStore<float> parameters_;
  EncoderDecoder<float> model_;
  std::vector<std::vector<int32_t>> sources_;
};

}  // namespace

std::unique_ptr<Model<float>> MakeTranslationModel(const WorkOptions& options) {
  SentenceData data;
  for (const SentencePairIds& pair : PairData(options)) {
    data.train.Add(WordsOf(pair.source), WordsOf(pair.target));
  }
  data.source_vocabulary = MakeVocabulary(options.source_vocabulary);
  data.target_vocabulary = MakeVocabulary(options.target_vocabulary);
  return std::make_unique<TranslationModel>(
      ModelOf(options), BuiltInScorers(), std::move(data),
      ModelOptions{.loss = {}, .seed = kSeed});
}

std::unique_ptr<TimedWork> MakeSearchWork(const WorkOptions& options) {
  return std::make_unique<SearchWork>(
      std::make_unique<TranslationSearch>(options), options.batch,
      options.threads);
}

}  // namespace regard
