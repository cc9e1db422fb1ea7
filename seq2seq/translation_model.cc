#include "seq2seq/translation_model.h"

#include <algorithm>
#include <iterator>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "attention/transformer/transformer.pb.h"
#include "autodiff/ops/softmax.h"
#include "autodiff/tape.h"
#include "data/target_lengths.h"
#include "options/option_registry.h"
#include "seq2seq/decoder.h"
#include "seq2seq/decoder_lens.h"
#include "seq2seq/encoder_decoder.h"
#include "seq2seq/memory_alignment.h"
#include "seq2seq/seq2seq_validation.h"
#include "seq2seq/typed_sentence.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

std::pair<Vocabulary, Vocabulary> VocabulariesOf(
    const SentenceData& data, const EncoderDecoderConfig& config) {
  if (data.source_vocabulary.has_value()) {
    return {*data.source_vocabulary, *data.target_vocabulary};
  }
  if (TransformerOfDecoder(config).tied_embeddings() ==
      TransformerConfig::SOURCE_TARGET_OUTPUT) {
    const Vocabulary shared = data.train.SharedVocabulary(data.min_frequency);
    return {shared, shared};
  }
  return {data.train.SourceVocabulary(data.min_frequency),
          data.train.TargetVocabulary(data.min_frequency)};
}

TargetLengths LengthsOf(const ParallelCorpus& train) {
  TargetLengths lengths;
  for (int64_t i = 0; i < train.size(); ++i) {
    const auto [source, target] = train[i];
    lengths.Add(std::ssize(source), std::ssize(target),
                std::ranges::count(target, Vocabulary::kUnknown));
  }
  return lengths;
}

// Returns a note that says how many pairs of each split are truncated to
// cut_tokens. Empty if no pair is truncated.
std::string CutNote(const SentenceData& data, const ParallelCorpus& train) {
  if (data.cut_tokens == 0) return "";
  std::vector<std::string> shares;
  const auto add = [&](int64_t cut, int64_t all, absl::string_view split) {
    if (cut == 0) return;
    shares.push_back(absl::StrCat(cut, " of ", all, " pairs of ", split));
  };
  int64_t cut = 0;
  for (int64_t i = 0; i < train.size(); ++i) {
    const auto [source, target] = train[i];
    if (source.back() != Vocabulary::kEnd ||
        target.back() != Vocabulary::kEnd) {
      ++cut;
    }
  }
  add(cut, train.size(), "train");
  const auto add_set = [&](const EvaluationSet& set, absl::string_view split) {
    // <eos> takes one id.
    const int64_t most = data.cut_tokens - 1;
    const auto count =
        std::ranges::count_if(set.pairs, [&](const SentencePair& pair) {
          return std::max(std::ssize(pair.source), std::ssize(pair.target)) >
                 most;
        });
    add(count, std::ssize(set.pairs), split);
  };
  add_set(data.dev, "dev");
  for (const EvaluationSet& test : data.tests) add_set(test, "test");
  if (shares.empty()) return "";
  return absl::StrCat("data.pairs.cut_tokens: ", data.cut_tokens, " cuts ",
                      absl::StrJoin(shares, ", "));
}

std::string LimitNote(const Translation& translation) {
  return absl::StrCat("the translation stopped at its limit of ",
                      translation.num_choices(),
                      " ids; raise search.max_length for a longer one");
}

// Returns the path of the config fields that determine how the decoder attends.
std::string PathOfDecoder(const EncoderDecoderConfig& config) {
  if (config.has_transformer_decoder()) return "transformer_decoder";
  if (config.has_transformer()) return "transformer";
  return absl::StrCat(
      "attention.",
      FindOptionsInOneof(config.attention(),
                         *Attention::descriptor()->FindOneofByName("score"))
          .path);
}

}  // namespace

TranslationModel::TranslationModel(const EncoderDecoderConfig& config,
                                   const AttentionRegistry& scorers,
                                   SentenceData data,
                                   const ModelOptions& options,
                                   const SearchConfig& search)
    : TranslationModel(config, scorers, VocabulariesOf(data, config),
                       std::move(data), options, search) {}

TranslationModel::TranslationModel(
    const EncoderDecoderConfig& config, const AttentionRegistry& scorers,
    const std::pair<Vocabulary, Vocabulary>& vocabularies, SentenceData&& data,
    const ModelOptions& options, const SearchConfig& search)
    : Model(options.loss),
      config_(config),
      search_(search),
      selects_keys_(AlignmentSelectsKeys(config, scorers)),
      data_(std::move(data)),
      train_(std::move(data_.train)
                 .Encode(vocabularies.first, vocabularies.second,
                         data_.cut_tokens)),
      translator_(
          config, scorers, vocabularies.first, vocabularies.second,
          data_.cut_tokens, options.seed, data_.tokenizers, options.finalize,
          data_.lengths.has_value() ? *data_.lengths : LengthsOf(train_)) {
  data_.train = {};
  std::string note = CutNote(data_, train_);
  if (!note.empty()) data_.notes.push_back(std::move(note));
}

void TranslationModel::ValidateData(ConfigProblems& problems) const {
  const EncoderDecoder<float>& model = translator_.model();
  const SequenceLengths longest = LongestSentenceLengths();
  const auto check = [&](int64_t known, int64_t needed, const char* side,
                         const std::string& path) {
    if (needed <= known) return;
    problems.Add(
        path,
        absl::StrCat(
            "supports positions up to ", known - 1, ", but the longest ", side,
            " in the data, including <eos>, has positions up to ", needed - 1));
  };
  check(model.encoder->longest_position(), longest[0], "source",
        config_.has_transformer_encoder() ? "transformer_encoder"
                                          : "transformer");
  check(model.decoder->longest_memory(), longest[0], "source",
        PathOfDecoder(config_));
  check(model.decoder->longest_position(), longest[1], "target",
        PathOfDecoder(config_));
}

ParallelCorpus TranslationModel::EncodePairs(
    absl::Span<const SentencePair> pairs) const {
  ParallelCorpus encoded;
  for (const SentencePair& pair : pairs) {
    encoded.Add(translator_.EncodeSource(pair.source),
                translator_.EncodeTarget(pair.target));
  }
  return encoded;
}

absl::StatusOr<TranslationModel::EncodedInput> TranslationModel::Read(
    const PredictionRequest& request) const {
  REGARD_RETURN_IF_ERROR(CheckIsText(request));
  EncodedInput encoded;
  if (request.example < 0) {
    encoded.source = TokenizeSource(request.text, translator_);
  } else {
    const bool tested = !data_.tests.empty() && !data_.tests.front().empty();
    const auto& pairs = (tested ? data_.tests.front() : data_.dev).pairs;
    REGARD_RETURN_IF_ERROR(CheckExample(request, pairs.size()));
    encoded.example = &pairs[static_cast<size_t>(request.example)];
    encoded.source = encoded.example->source;
  }
  REGARD_RETURN_IF_ERROR(translator_.CheckSourceLength(encoded.source));
  encoded.notes = SourceNotes(encoded.source, translator_);
  return encoded;
}

absl::StatusOr<Prediction> TranslationModel::Predict(
    Forward<float>& forward, const PredictionRequest& request) const {
  REGARD_ASSIGN_OR_RETURN(EncodedInput encoded, Read(request));
  Prediction prediction = {.input = translator_.SourceText(encoded.source),
                           .notes = std::move(encoded.notes)};
  if (encoded.example != nullptr) {
    prediction.reference = translator_.TargetText(encoded.example->target);
  }
  if (encoded.source.empty()) return prediction;
  const auto found = translator_.Translate(forward, {encoded.source}, search_,
                                           /*want_weights=*/false);
  const Translation& best = found[0].front();
  prediction.text = translator_.TargetText(translator_.Words(best));
  if (best.at_limit) prediction.notes.push_back(LimitNote(best));
  return prediction;
}

absl::StatusOr<TraceablePrediction<float>> TranslationModel::Trace(
    Forward<float>& forward, const PredictionRequest& request,
    const TraceOptions& options) const {
  REGARD_ASSIGN_OR_RETURN(EncodedInput encoded, Read(request));
  REGARD_RETURN_IF_ERROR(
      CheckTracedSize("input", encoded.source.size(), options.most_tokens));
  std::vector<std::string> target;
  if (options.target.has_value()) {
    target = TokenizeTarget(*options.target, translator_);
    if (!options.target->empty()) {
      REGARD_RETURN_IF_ERROR(
          CheckTracedSize("target", target.size(), options.most_tokens));
    }
    const absl::Status known = translator_.CheckTargetLength(target);
    if (!known.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("target: ", known.message()));
    }
  } else {
    SearchConfig search = search_;
    search.clear_n_best();
    if (options.beam > 0) {
      search.clear_sampling();
      search.set_beam(options.beam);
    }
    const auto found = translator_.Translate(forward, {encoded.source}, search,
                                             /*want_weights=*/false);
    const Translation& best = found[0].front();
    if (best.at_limit) encoded.notes.push_back(LimitNote(best));
    target = translator_.Words(best);
    const size_t all = target.size();
    // A model that has not learned to end may write a very long translation.
    target.resize(std::min(all, static_cast<size_t>(options.most_tokens)));
    translator_.TruncateTarget(&target);
    if (target.size() < all) {
      encoded.notes.push_back(absl::StrCat("the translation is cut: only ",
                                           target.size(), " of ", all,
                                           " tokens are shown"));
    }
  }
  for (std::string& note : TargetNotes(target, translator_)) {
    encoded.notes.push_back(std::move(note));
  }
  const bool right =
      encoded.example != nullptr && encoded.example->target == target;
  TraceablePrediction<float> traced = TracePair(
      encoded.source, target,
      right ? encoded.example->alignment : std::vector<AlignmentLink>());
  traced.labels.notes = std::move(encoded.notes);
  return traced;
}

TraceablePrediction<float> TranslationModel::TracePair(
    absl::Span<const std::string> source, absl::Span<const std::string> target,
    absl::Span<const AlignmentLink> gold) const {
  const std::vector<int32_t> source_ids = translator_.EncodeSource(source);
  const std::vector<int32_t> target_ids = translator_.EncodeTarget(target);
  const auto with_end = [](absl::Span<const std::string> words, size_t size) {
    std::vector<std::string> all(words.begin(), words.end());
    all.push_back("<eos>");
    // Sentences may be truncated to cut_tokens, so the last words may have no
    // ids.
    all.resize(size);
    return all;
  };
  TraceablePrediction<float> traced;
  TraceDescription& labels = traced.labels;
  labels.input = translator_.SourceText(source);
  labels.prediction = translator_.TargetText(target);
  labels.target = labels.prediction;
  TracedSequence read = {.name = "source",
                         .labels = with_end(source, source_ids.size())};
  TracedSequence written = {.name = "target",
                            .labels = {"<bos>"},
                            .writes = with_end(target, target_ids.size())};
  written.labels.insert(written.labels.end(), written.writes.begin(),
                        written.writes.end() - 1);
  for (size_t i = 0; i < written.writes.size(); ++i) {
    labels.outputs.push_back({written.writes[i], static_cast<int64_t>(i)});
  }
  labels.sequences = {std::move(read), std::move(written)};
  labels.sites = {{"*encoder/*", 0, 0}, {"*self/*", 1, 1}, {"*", 1, 0}};
  labels.successive = true;
  labels.writer = 1;
  const Decoder<float>* const decoder = translator_.model().decoder.get();
  const AlignmentChoice choice = decoder->alignment();
  if (has_attention()) {
    labels.alignment = AlignmentSites(choice)[choice.layer < 0 ? 1 : 0];
  }
  labels.alignment_head = choice.head;
  for (const AlignmentLink& link : gold) {
    labels.gold.push_back({link.target, link.source});
  }
  traced.pass = [this, decoder, source_ids,
                 target_ids](Forward<float>& forward) {
    Arena& arena = forward.tape().arena();
    ParallelCorpus pair;
    pair.Add(source_ids, target_ids);
    const Batch batch = MakeBatch(pair, {0}, arena);
    const Var<float> readout = translator_.model().Run(forward, batch);
    return PickPerRow(LogSoftmax(decoder->head().Logits(forward, readout)),
                      target_ids);
  };
  traced.lens =
      MakeLogitLens(*decoder, labels.sequences[1].writes, [this](size_t id) {
        return translator_.target_vocabulary().Token(static_cast<int32_t>(id));
      });
  return traced;
}

SequenceLengths TranslationModel::LongestSentenceLengths() const {
  SequenceLengths longest = {};
  const auto measure = [&](const ParallelCorpus& pairs) {
    for (int64_t i = 0; i < pairs.size(); ++i) {
      longest[0] = std::max(longest[0], std::ssize(pairs[i].source));
      longest[1] = std::max(longest[1], std::ssize(pairs[i].target));
    }
  };
  if (data_.sampler != nullptr) {
    const auto [source, target] = data_.sampler->MaxLengths();
    longest = {source, target};
  }
  measure(train_);
  for (const Split split : {Split::kDev, Split::kTest}) {
    for (const EvaluationSet* set : EvaluationSetsOf(split)) {
      measure(EncodePairs(set->pairs));
    }
  }
  return longest;
}

void TranslationModel::BeginEpoch(std::optional<int64_t> epoch) {
  if (data_.sampler == nullptr || epoch == epoch_) return;
  data_.sampler->Segment(epoch, translator_.source_vocabulary(),
                         translator_.target_vocabulary(), &train_);
  epoch_ = epoch;
}

int64_t TranslationModel::CountWork(absl::Span<const int64_t> examples) const {
  int64_t tokens = 0;
  for (const int64_t example : examples) {
    tokens += static_cast<int64_t>(train_[example].target.size());
  }
  return tokens;
}

// Returns `examples` by descending target length, the order in which a decoder
// can stop computing rows that ended.
absl::Span<const int64_t> TranslationModel::LongestTargetFirst(
    absl::Span<const int64_t> examples, Arena& arena) const {
  auto* const order = arena.New<int64_t>(static_cast<int64_t>(examples.size()));
  std::copy(examples.begin(), examples.end(), order);
  std::sort(order, order + examples.size(), [this](int64_t a, int64_t b) {
    const size_t of_a = train_[a].target.size();
    const size_t of_b = train_[b].target.size();
    return of_a != of_b ? of_a > of_b : a < b;
  });
  return {order, examples.size()};
}

void TranslationModel::Loss(Forward<float>& forward,
                            absl::Span<const int64_t> examples,
                            absl::Span<const double>,
                            absl::Span<Var<float>> sums) const {
  Tape<float>& tape = forward.tape();
  // Each example keeps its own random numbers.
  RandomState random = tape.random();
  random.examples = LongestTargetFirst(examples, tape.arena());
  tape.set_random(random);
  const EncoderDecoder<float>& model = translator_.model();
  const Batch batch = MakeBatch(train_, random.examples, tape.arena());
  const Var<float> readout = model.Run(forward, batch, batch.input.lengths);
  sums[0] = model.decoder->head().Loss(forward, readout, batch.target,
                                       loss_options().label_smoothing);
}

}  // namespace regard
