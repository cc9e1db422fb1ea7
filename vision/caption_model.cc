#include "vision/caption_model.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "autodiff/ops/shape_ops.h"
#include "autodiff/ops/softmax.h"
#include "autodiff/random.h"
#include "data/images/image_file.h"
#include "files/utf8.h"
#include "nn/batches.h"
#include "seq2seq/decoder.h"
#include "seq2seq/decoder_lens.h"
#include "seq2seq/memory_alignment.h"
#include "seq2seq/typed_sentence.h"
#include "third_party/abseil_backport/status_macros.h"
#include "vision/augmentation.h"
#include "vision/image_trace.h"

namespace regard {

namespace {

constexpr int64_t kEvaluationBatch = 64;

std::vector<std::string> PromptWords(const CaptionerConfig& config) {
  std::vector<std::string> words;
  for (const absl::string_view word : SplitOnWhitespace(config.prompt())) {
    words.emplace_back(word);
  }
  return words;
}

std::vector<int32_t> PromptIds(const CaptionerConfig& config,
                               const Vocabulary& vocabulary) {
  std::vector<int32_t> ids = {Vocabulary::kBegin};
  for (const int32_t id : vocabulary.Encode(PromptWords(config))) {
    ids.push_back(id);
  }
  return ids;
}

}  // namespace

double Pointing::Accuracy() const {
  return words == 0 ? 0
                    : static_cast<double>(correct) / static_cast<double>(words);
}

double Pointing::MeanMass() const {
  return words == 0 ? 0 : mass / static_cast<double>(words);
}

Vocabulary CaptionModel::VocabularyOf(const CaptionSplits& data,
                                      const CaptionerConfig& config) {
  TokenCounts counts;
  counts.Add(PromptWords(config));
  for (const Caption& caption : data.train.captions) counts.Add(caption.words);
  return Vocabulary(counts);
}

CaptionModel::CaptionModel(const CaptionerConfig& config,
                           const AttentionRegistry& scorers, CaptionSplits data,
                           const ModelOptions& options,
                           const SearchConfig& search)
    : Model(options.loss),
      config_(config),
      search_(search),
      data_(std::move(data)),
      vocabulary_(VocabularyOf(data_, config)),
      prompt_(PromptIds(config, vocabulary_)),
      captioner_(config, data_.train.images.shape, vocabulary_.size(), scorers,
                 parameters_.Root()) {
  for (const Caption& caption : data_.train.captions) {
    train_.push_back(Encode(caption.words));
  }
  // A patch that does not fit may be too large to hold its weights.
  if (options.finalize &&
      (captioner_.encoder() == nullptr || captioner_.encoder()->FitsImages())) {
    parameters_.Finalize(options.seed);
  }
}

void CaptionModel::ValidateData(ConfigProblems& problems) const {
  if (captioner_.encoder() != nullptr) {
    const ConfigProblems::Scope scope(problems, "vision_transformer");
    captioner_.encoder()->ValidateImages(problems);
    const VisionTransformer<float>& encoder = *captioner_.encoder();
    if (encoder.rows() % 2 != 0 || encoder.columns() % 2 != 0) {
      problems.Add(
          "patch",
          absl::StrCat("makes ", encoder.rows(), " x ", encoder.columns(),
                       " patches, which do not divide into quadrants"));
    }
  }
  const int64_t known = captioner_.decoder().longest_memory();
  if (captioner_.encoder() != nullptr &&
      captioner_.encoder()->tokens() > known) {
    problems.Add(
        "decoder",
        absl::StrCat("knows ", known, " positions of its memory; an image has ",
                     captioner_.encoder()->tokens(), " tokens"));
  }
  const auto prompt = absl::MakeConstSpan(prompt_).subspan(1);
  size_t longest = 0;
  for (const CaptionSet* set : {&data_.train, &data_.dev, &data_.test}) {
    for (const Caption& caption : set->captions) {
      longest = std::max(longest, caption.words.size());
      const std::vector<int32_t> ids = vocabulary_.Encode(caption.words);
      if (ids.size() > prompt.size() &&
          std::equal(prompt.begin(), prompt.end(), ids.begin())) {
        continue;
      }
      problems.Add("prompt", "is not how the sentences of the data begin");
      return;
    }
  }
  // <bos> and all words are read.
  const auto needed = static_cast<int64_t>(longest) + 1;
  if (needed > captioner_.decoder().longest_position()) {
    problems.Add("decoder",
                 absl::StrCat("knows ", captioner_.decoder().longest_position(),
                              " positions; the longest sentence of the data "
                              "takes ",
                              needed, ", <bos> included"));
  }
}

std::vector<int32_t> CaptionModel::Encode(
    absl::Span<const std::string> words) const {
  std::vector<int32_t> ids = vocabulary_.Encode(words);
  ids.push_back(Vocabulary::kEnd);
  return ids;
}

int64_t CaptionModel::CountWork(absl::Span<const int64_t> examples) const {
  int64_t words = 0;
  for (const int64_t example : examples) {
    words += static_cast<int64_t>(train_[static_cast<size_t>(example)].size()) -
             prompt_length();
  }
  return words;
}

// Words of the prompt are read, and their targets are padding: they are never
// predicted.
DecoderBatch CaptionModel::MakeBatch(
    absl::Span<const std::vector<int32_t>> sentences,
    absl::Span<const int64_t> examples, Arena& arena) const {
  const auto rows = static_cast<int64_t>(examples.size());
  DecoderBatch batch = TeacherForcing(
      rows, Vocabulary::kBegin, Vocabulary::kPad, arena, [&](int64_t row) {
        return absl::MakeConstSpan(
            sentences[static_cast<size_t>(examples[row])]);
      });
  for (int64_t row = 0; row < rows; ++row) {
    std::fill_n(batch.target.data() + row * batch.input.time, prompt_length(),
                Vocabulary::kPad);
  }
  return batch;
}

Memory<float> CaptionModel::EncodeImages(
    Forward<float>& forward, const CaptionSet& set,
    absl::Span<const int64_t> images) const {
  const auto count = static_cast<int64_t>(images.size());
  Var<float> pixels;
  if (captioner_.encoder() != nullptr) {
    pixels = MakeImages(forward.tape(), set.images, images,
                        config_.vision_transformer().augmentation(), epoch_);
  }
  return captioner_.Encode(forward, count, pixels);
}

Var<float> CaptionModel::Run(Forward<float>& forward, const CaptionSet& set,
                             absl::Span<const int64_t> images,
                             const DecoderBatch& batch) const {
  return captioner_.decoder().Run(forward, EncodeImages(forward, set, images),
                                  batch.input.ids);
}

AttentionMap<float> CaptionModel::Align(Forward<float>& forward,
                                        const CaptionSet& set,
                                        absl::Span<const int64_t> images,
                                        const DecoderBatch& batch,
                                        Var<float>* readout) const {
  const AlignmentChoice choice = captioner_.decoder().alignment();
  return MemoryAlignment<float>(
      MapsOf(forward, AlignmentSites(choice),
             [&] { *readout = Run(forward, set, images, batch); }),
      choice);
}

void CaptionModel::Loss(Forward<float>& forward,
                        absl::Span<const int64_t> examples,
                        absl::Span<const double>,
                        absl::Span<Var<float>> sums) const {
  const DecoderBatch batch =
      MakeBatch(train_, examples, forward.tape().arena());
  sums[0] = captioner_.decoder().head().Loss(
      forward, Run(forward, data_.train, examples, batch), batch.target,
      loss_options().label_smoothing);
}

std::vector<double> CaptionModel::OnQuadrants(
    absl::Span<const float> tokens) const {
  const VisionTransformer<float>& encoder = *captioner_.encoder();
  std::vector<double> shares(kQuadrants, 0);
  int64_t token = encoder.first_patch();
  for (int64_t row = 0; row < encoder.rows(); ++row) {
    for (int64_t column = 0; column < encoder.columns(); ++column, ++token) {
      const int64_t quadrant =
          2 * (2 * row / encoder.rows()) + 2 * column / encoder.columns();
      shares[static_cast<size_t>(quadrant)] +=
          tokens[static_cast<size_t>(token)];
    }
  }
  return shares;
}

void CaptionModel::AddPointing(absl::Span<const float> tokens, int32_t quadrant,
                               Pointing* pointing) const {
  const std::vector<double> shares = OnQuadrants(tokens);
  const double own = shares[static_cast<size_t>(quadrant)];
  ++pointing->words;
  // One of several largest ones is no answer.
  const auto as_large = std::count_if(shares.begin(), shares.end(),
                                      [&](double s) { return s >= own; });
  if (as_large == 1) ++pointing->correct;
  pointing->mass += own;
}

double CaptionModel::UniformMass(const CaptionSet& set) const {
  const auto tokens = static_cast<size_t>(captioner_.encoder()->tokens());
  const std::vector<float> uniform(tokens, 1.0F / static_cast<float>(tokens));
  const std::vector<double> shares = OnQuadrants(uniform);
  Pointing pointing;
  for (const Caption& caption : set.captions) {
    for (const int32_t quadrant : caption.quadrants) {
      if (quadrant < 0) continue;
      ++pointing.words;
      pointing.mass += shares[static_cast<size_t>(quadrant)];
    }
  }
  return pointing.MeanMass();
}

std::vector<std::vector<std::string>> CaptionModel::GenerateCaptions(
    Forward<float>& forward, const CaptionSet& set,
    absl::Span<const int64_t> images) const {
  // The same without cross-attention.
  const ImageShape& shape = set.images.shape;
  const int64_t patch = config_.vision_transformer().patch();
  const int64_t patches = (shape.height / patch) * (shape.width / patch);
  const auto longest = static_cast<int64_t>(search_.max_length_ratio() *
                                            static_cast<double>(patches)) +
                       search_.max_length();
  std::vector<SearchSource> sources;
  std::vector<int32_t> prompts;
  for (const int64_t image : images) {
    sources.push_back({std::max<int64_t>(longest, 1),
                       Hash(static_cast<uint64_t>(image), kHashSeed)});
    prompts.insert(prompts.end(), prompt_.begin(), prompt_.end());
  }
  const EnsembleMember member = {&captioner_.decoder(), &forward,
                                 [&](Forward<float>& of_member) {
                                   return EncodeImages(of_member, set, images);
                                 }};
  std::vector<std::vector<std::string>> sentences;
  for (const auto& found : Search({.members = {&member, 1},
                           .sources = sources,
                           .prompt = prompts,
                           .want_weights = false},
                                  search_)) {
    sentences.push_back(vocabulary_.Decode(found.front().ids));
  }
  return sentences;
}

absl::StatusOr<CaptionModel::Asked> CaptionModel::Read(
    const Question& question) const {
  if (question.example < 0) {
    const auto typed = std::make_shared<CaptionSet>();
    REGARD_ASSIGN_OR_RETURN(typed->images,
                            ReadImageLike(question.text, data_.train.images));
    return Asked{typed, typed.get(), 0};
  }
  const CaptionSet& set = data_.test.size() > 0 ? data_.test : data_.dev;
  REGARD_RETURN_IF_ERROR(
      CheckExample(question, static_cast<size_t>(set.size())));
  return Asked{nullptr, &set, question.example};
}

absl::StatusOr<Answered> CaptionModel::Answer(Forward<float>& forward,
                                              const Question& question) const {
  REGARD_ASSIGN_OR_RETURN(const Asked asked, Read(question));
  Answered answer = {.input = question.text};
  if (asked.typed == nullptr) {
    const auto& words =
        asked.set->captions[static_cast<size_t>(asked.image)].words;
    answer.input = absl::StrCat("image ", asked.image);
    answer.reference =
        absl::StrJoin(words.begin() + prompt_length(), words.end(), " ");
  }
  answer.text = absl::StrJoin(
      GenerateCaptions(forward, *asked.set, {asked.image}).front(), " ");
  return answer;
}

absl::StatusOr<Traced<float>> CaptionModel::Trace(
    Forward<float>& forward, const Question& question,
    const TraceOptions& options) const {
  if (options.beam > 0) {
    return absl::InvalidArgumentError(
        "beam: a captioner searches as its run's "
        "config says");
  }
  REGARD_ASSIGN_OR_RETURN(const Asked asked, Read(question));
  std::vector<std::string> words;
  if (options.target.has_value()) {
    words = TypedWords(*options.target, vocabulary_);
  } else {
    words = GenerateCaptions(forward, *asked.set, {asked.image}).front();
  }
  Traced<float> traced;
  TraceLabels& labels = traced.labels;
  for (const std::string& word : words) {
    if (vocabulary_.Contains(word)) continue;
    labels.notes.push_back(
        absl::StrCat("the model does not know '", word, "'"));
  }
  labels.input = question.example < 0
                     ? question.text
                     : absl::StrCat("image ", question.example);
  labels.answer = absl::StrJoin(words, " ");
  labels.target = labels.answer;
  std::vector<std::string> read = PromptWords(config_);
  read.insert(read.end(), words.begin(), words.end());
  const auto longest = static_cast<size_t>(
      std::min(kMostTraced + prompt_length(),
               captioner_.decoder().longest_position() - 1));
  if (options.target.has_value() && !options.target->empty()) {
    REGARD_RETURN_IF_ERROR(
        CheckTracedSize("target", words.size(),
                        static_cast<int64_t>(longest) - prompt_length()));
  }
  // A sentence that did not end may be longer than can be read again.
  read.resize(std::min(read.size(), longest));
  const std::vector<int32_t> ids = Encode(read);
  TracedSequence sentence = {.name = "sentence", .labels = {"<bos>"}};
  sentence.labels.insert(sentence.labels.end(), read.begin(), read.end());
  sentence.writes = read;
  sentence.writes.push_back("<eos>");
  for (size_t i = prompt_length(); i < ids.size(); ++i) {
    labels.outputs.push_back({sentence.writes[i], static_cast<int64_t>(i)});
  }
  labels.successive = true;
  labels.sequences = {std::move(sentence)};
  labels.sites = {
      {"vision_transformer/*", 1, 1}, {"*self/*", 0, 0}, {"*", 0, 1}};
  if (captioner_.encoder() == nullptr) {
    labels.sites = {{"*", 0, 0}};
  } else {
    labels.sequences.push_back(
        PatchesOf(asked.set->images, asked.image, *captioner_.encoder()));
    const AlignmentChoice choice = captioner_.decoder().alignment();
    labels.alignment = AlignmentSites(choice)[0];
    labels.alignment_head = choice.head;
  }
  traced.pass = [this, asked, ids](Forward<float>& with) {
    const Decoder<float>& decoder = captioner_.decoder();
    const DecoderBatch batch =
        MakeBatch(absl::MakeConstSpan(&ids, 1), {0}, with.tape().arena());
    const Var<float> rows = LogSoftmax(decoder.head().Logits(
        with, Run(with, *asked.set, {asked.image}, batch)));
    const int64_t prompt = prompt_length();
    return PickEach(Slice(rows.WithShape({rows.rows(), rows.cols()}),
                          /*axis=*/0, prompt, rows.rows() - prompt),
                    absl::MakeConstSpan(ids).subspan(prompt));
  };
  traced.lens = LensOf<float>(
      captioner_.decoder(), labels.sequences[0].writes, [this](size_t id) {
        return vocabulary_.Token(static_cast<int32_t>(id));
      });
  return traced;
}

std::vector<float> CaptionModel::WordAttention(
    Forward<float>& forward, const CaptionSet& set, int64_t image,
    absl::Span<const std::string> words) const {
  const int64_t images[] = {image};
  const std::vector<int32_t> sentence[] = {Encode(words)};
  const int64_t only[] = {0};
  forward.BeginStep();
  const DecoderBatch batch = MakeBatch(sentence, only, forward.tape().arena());
  Var<float> readout;
  const AttentionMap<float> map = Align(forward, set, images, batch, &readout);
  std::vector<float> looks = map.weights;
  looks.resize(words.size() * map.shape.cols());
  std::fill_n(looks.begin(), prompt_length() * map.shape.cols(), 0.0F);
  return looks;
}

std::vector<EvaluatedSet> CaptionModel::Evaluate(Forward<float>& forward,
                                                 Split split) const {
  if (split == Split::kTrain) return {};
  const CaptionSet& set = split == Split::kDev ? data_.dev : data_.test;
  if (set.size() == 0) return {};
  std::vector<std::vector<int32_t>> sentences;
  for (const Caption& caption : set.captions) {
    sentences.push_back(Encode(caption.words));
  }
  const bool attends = captioner_.encoder() != nullptr;
  TokenScores scores;
  Pointing pointing;
  EvaluatedSet evaluated = {.metrics = {{"exact_match"}}};
  struct Measured {
    TokenScores scores;
    AttentionMap<float> map;  // [images, 1, words, tokens of an image]
    std::vector<std::vector<std::string>> written;
  };
  const auto measure = [&](Forward<float>& passes,
                           absl::Span<const int64_t> images) {
    const DecoderBatch batch =
        MakeBatch(sentences, images, passes.tape().arena());
    Measured measured;
    Var<float> readout;
    measured.map = Align(passes, set, images, batch, &readout);
    measured.scores =
        ScoreTokens(captioner_.decoder().head(), passes, readout, batch.target);
    measured.written = GenerateCaptions(passes, set, images);
    return measured;
  };
  const auto add = [&](absl::Span<const int64_t> images,
                       const Measured& measured) {
    scores += measured.scores;
    const AttentionMap<float>& map = measured.map;
    for (size_t i = 0; i < images.size(); ++i) {
      const Caption& caption = set.captions[static_cast<size_t>(images[i])];
      for (size_t word = 0; attends && word < caption.quadrants.size();
           ++word) {
        if (caption.quadrants[word] < 0) continue;
        const auto tokens = static_cast<size_t>(map.shape.cols());
        const size_t row = i * static_cast<size_t>(map.shape[2]) + word;
        AddPointing(
            absl::MakeConstSpan(map.weights).subspan(row * tokens, tokens),
            caption.quadrants[word], &pointing);
      }
      const std::vector<std::string>& words = caption.words;
      const std::vector<std::string>& written = measured.written[i];
      const bool exact =
          std::equal(written.begin(), written.end(),
                     words.begin() + prompt_length(), words.end());
      evaluated.metrics[0].Add({exact ? 1.0 : 0.0, 1});
      evaluated.examples.push_back(
          {.input = absl::StrCat("image ", images[i]),
           .reference =
               absl::StrJoin(words.begin() + prompt_length(), words.end(), " "),
           .output = absl::StrJoin(written, " ")});
    }
  };
  ForEachBatch(forward, set.size(), kEvaluationBatch, measure, add);
  const auto count = static_cast<double>(scores.count);
  evaluated.totals = {
      {"loss", scores.loss / count},
      {"token_accuracy", static_cast<double>(scores.correct) / count}};
  if (attends) {
    evaluated.totals["pointing_accuracy"] = pointing.Accuracy();
    evaluated.totals["pointing_mass"] = pointing.MeanMass();
  }
  return {std::move(evaluated)};
}

}  // namespace regard
