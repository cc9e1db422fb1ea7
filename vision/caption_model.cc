#include "vision/caption_model.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "autodiff/ops/shape_ops.h"
#include "autodiff/ops/softmax.h"
#include "autodiff/random.h"
#include "data/images/image_file.h"
#include "files/utf8.h"
#include "seq2seq/decoder.h"
#include "seq2seq/decoder_lens.h"
#include "seq2seq/memory_alignment.h"
#include "seq2seq/typed_sentence.h"
#include "third_party/abseil_backport/status_macros.h"
#include "vision/augmentation.h"
#include "vision/image_trace.h"

namespace regard {

namespace {

std::vector<std::string> WordsOf(absl::string_view prompt) {
  const std::vector<absl::string_view> words = SplitOnWhitespace(prompt);
  return {words.begin(), words.end()};
}

std::vector<int32_t> PromptIds(absl::Span<const std::string> words,
                               const Vocabulary& vocabulary) {
  std::vector<int32_t> ids = {Vocabulary::kBegin};
  for (const int32_t id : vocabulary.Encode(words)) ids.push_back(id);
  return ids;
}

}  // namespace

Vocabulary CaptionModel::VocabularyOf(const CaptionSplits& data,
                                      const CaptionerConfig& config) {
  if (!data.vocabulary.empty()) {
    return Vocabulary::FromText(data.vocabulary, "").value();
  }
  TokenCounts counts;
  counts.Add(WordsOf(config.prompt()));
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
      prompt_(PromptIds(WordsOf(config.prompt()), vocabulary_)),
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
    if (data_.train.points() &&
        (encoder.rows() % 2 != 0 || encoder.columns() % 2 != 0)) {
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
    std::fill_n(batch.target.data() + row * batch.input.time,
                std::min(prompt_length(), batch.input.time), Vocabulary::kPad);
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
  Arena& arena = forward.tape().arena();
  const DecoderBatch batch = MakeBatch(train_, examples, arena);
  const absl::Span<int64_t> images(arena.New<int64_t>(std::ssize(examples)),
                                   examples.size());
  std::ranges::transform(examples, images.begin(), [&](int64_t example) {
    return data_.train.captions[static_cast<size_t>(example)].image;
  });
  sums[0] = captioner_.decoder().head().Loss(
      forward, Run(forward, data_.train, images, batch), batch.target,
      loss_options().label_smoothing);
}

std::vector<std::vector<Hypothesis>> CaptionModel::Write(
    Forward<float>& forward, const CaptionSet& set,
    absl::Span<const int64_t> images, absl::Span<const int32_t> prompt,
    const SearchConfig& search) const {
  // The same without cross-attention.
  const ImageShape& shape = set.images.shape;
  const int64_t patch = config_.vision_transformer().patch();
  const int64_t patches = (shape.height / patch) * (shape.width / patch);
  const auto longest = static_cast<int64_t>(search.max_length_ratio() *
                                            static_cast<double>(patches)) +
                       search.max_length();
  std::vector<SearchSource> sources;
  std::vector<int32_t> prompts;
  for (const int64_t image : images) {
    sources.push_back({std::max<int64_t>(longest, 1),
                       Hash(static_cast<uint64_t>(image), kHashSeed)});
    prompts.insert(prompts.end(), prompt.begin(), prompt.end());
  }
  const EnsembleMember member = {&captioner_.decoder(), &forward,
                                 [&](Forward<float>& of_member) {
                                   return EncodeImages(of_member, set, images);
                                 }};
  return Search({.members = {&member, 1},
                 .sources = sources,
                 .prompt = prompts,
                 .want_weights = false},
                search);
}

std::vector<std::vector<std::string>> CaptionModel::GenerateCaptions(
    Forward<float>& forward, const CaptionSet& set,
    absl::Span<const int64_t> images) const {
  std::vector<std::vector<std::string>> sentences;
  for (const auto& found : Write(forward, set, images, prompt_, search_)) {
    sentences.push_back(vocabulary_.Decode(found.front().ids));
  }
  return sentences;
}

absl::StatusOr<std::vector<CaptionModel::Described>> CaptionModel::Describe(
    Forward<float>& forward, const Question& question,
    const SearchConfig& search) const {
  REGARD_ASSIGN_OR_RETURN(const Asked asked, Read(question));
  const std::vector<std::vector<Hypothesis>> found =
      Write(forward, *asked.set, {asked.image},
            PromptIds(asked.prompt, vocabulary_), search);
  std::vector<Described> all;
  for (const Hypothesis& hypothesis : found.front()) {
    const std::vector<std::string> words = vocabulary_.Decode(hypothesis.ids);
    std::vector<std::string> text = asked.prompt;
    text.insert(text.end(), words.begin(), words.end());
    all.push_back({absl::StrJoin(text, " "), absl::StrJoin(words, " "),
                   hypothesis.score});
  }
  return all;
}

std::vector<std::string> CaptionModel::Continue(Forward<float>& forward,
                                                const Asked& asked) const {
  return vocabulary_.Decode(Write(forward, *asked.set, {asked.image},
                                  PromptIds(asked.prompt, vocabulary_), search_)
                                .front()
                                .front()
                                .ids);
}

absl::StatusOr<CaptionModel::Asked> CaptionModel::Read(
    const Question& question) const {
  std::vector<std::string> prompt =
      WordsOf(question.prompt.value_or(config_.prompt()));
  // <bos> is read, too.
  const int64_t most = captioner_.decoder().longest_position() - 1;
  if (std::ssize(prompt) > most) {
    return absl::InvalidArgumentError(absl::StrCat(
        "prompt: ", prompt.size(), " words; the model reads at most ", most));
  }
  if (question.example < 0) {
    const auto typed = std::make_shared<CaptionSet>();
    REGARD_ASSIGN_OR_RETURN(typed->images,
                            ReadImageLike(question.text, data_.train.images));
    return Asked{typed, typed.get(), 0, std::move(prompt)};
  }
  const CaptionSet& set = data_.test.size() > 0 ? data_.test : data_.dev;
  REGARD_RETURN_IF_ERROR(
      CheckExample(question, static_cast<size_t>(set.size())));
  return Asked{nullptr, &set, question.example, std::move(prompt)};
}

absl::StatusOr<Answered> CaptionModel::Answer(Forward<float>& forward,
                                              const Question& question) const {
  REGARD_ASSIGN_OR_RETURN(const Asked asked, Read(question));
  Answered answer = {.input = question.text};
  if (asked.typed == nullptr) {
    answer.input = absl::StrCat("image ", asked.image);
    answer.reference =
        absl::StrJoin(WithoutPrompt(asked.set->of(asked.image).front()), " ");
  }
  answer.text = absl::StrJoin(Continue(forward, asked), " ");
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
    words = Continue(forward, asked);
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
  std::vector<std::string> read = asked.prompt;
  const int64_t prompt = std::ssize(read);
  read.insert(read.end(), words.begin(), words.end());
  const auto longest = static_cast<size_t>(std::min(
      kMostTraced + prompt, captioner_.decoder().longest_position() - 1));
  if (options.target.has_value() && !options.target->empty()) {
    REGARD_RETURN_IF_ERROR(CheckTracedSize(
        "target", words.size(), static_cast<int64_t>(longest) - prompt));
  }
  // A sentence that did not end may be longer than can be read again.
  read.resize(std::min(read.size(), longest));
  const std::vector<int32_t> ids = Encode(read);
  TracedSequence sentence = {.name = "sentence", .labels = {"<bos>"}};
  sentence.labels.insert(sentence.labels.end(), read.begin(), read.end());
  sentence.writes = read;
  sentence.writes.push_back("<eos>");
  for (size_t i = prompt; i < ids.size(); ++i) {
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
  traced.pass = [this, asked, ids, prompt](Forward<float>& with) {
    const Decoder<float>& decoder = captioner_.decoder();
    const DecoderBatch batch =
        MakeBatch(absl::MakeConstSpan(&ids, 1), {0}, with.tape().arena());
    const Var<float> rows = LogSoftmax(decoder.head().Logits(
        with, Run(with, *asked.set, {asked.image}, batch)));
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

}  // namespace regard
