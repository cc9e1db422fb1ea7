#include "vision/caption_model.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "autodiff/random.h"
#include "data/target_lengths.h"
#include "seq2seq/decoder.h"
#include "seq2seq/decoding/output_limit.h"
#include "seq2seq/memory_alignment.h"
#include "vision/augmentation.h"

namespace regard {

CaptionModel::CaptionModel(const CaptionerConfig& config,
                           const AttentionRegistry& scorers, CaptionSplits data,
                           const ModelOptions& options,
                           const SearchConfig& search)
    : Model(options.loss),
      config_(config),
      search_(search),
      data_(std::move(data)),
      tokens_(config, data_),
      prompt_words_(CaptionTokens::SplitIntoWords(config.prompt())),
      prompt_(PromptIdsWithBegin(prompt_words_)),
      captioner_(config, data_.train.images.shape, tokens_.ids(), scorers,
                 parameters_.Root()) {
  for (const Caption& caption : data_.train.captions) {
    train_.push_back(Encode(caption.words));
  }
  if (data_.lengths.has_value()) {
    lengths_ = *data_.lengths;
  } else {
    const int64_t patches = std::max<int64_t>(PatchesPerImage(data_.train), 1);
    for (const std::vector<int32_t>& sentence : train_) {
      lengths_.Add(patches, std::ssize(sentence) - std::ssize(prompt()),
                   /*unknown_ids=*/0);
    }
  }
  // If the patch size does not fit the images, the weights might be too large
  // to allocate.
  if (options.finalize &&
      (captioner_.encoder() == nullptr || captioner_.encoder()->FitsImages())) {
    parameters_.Finalize(options.seed);
  }
}

void CaptionModel::ValidateData(ConfigProblems& problems) const {
  tokens_.Validate(problems);
  if (captioner_.encoder() != nullptr) {
    const ConfigProblems::Scope scope(problems, "vision_transformer");
    captioner_.encoder()->ValidateImages(problems);
    const VisionTransformer<float>& encoder = *captioner_.encoder();
    if (data_.train.points() &&
        (encoder.rows() % 2 != 0 || encoder.columns() % 2 != 0)) {
      problems.Add("patch", absl::StrCat("makes ", encoder.rows(), " x ",
                                         encoder.columns(),
                                         " patches; both numbers must be even, "
                                         "because the images have quadrants"));
    }
  }
  const int64_t known = captioner_.decoder().longest_memory();
  if (captioner_.encoder() != nullptr &&
      captioner_.encoder()->tokens() > known) {
    problems.Add(
        "decoder",
        absl::StrCat(
            "must support ", captioner_.encoder()->tokens(),
            " memory positions, one for each token of an image; supports only ",
            known));
  }
  size_t longest = 0;
  for (const CaptionSet* set : {&data_.train, &data_.dev, &data_.test}) {
    for (const Caption& caption : set->captions) {
      const std::vector<int32_t> ids = tokens_.Encode(caption.words);
      longest = std::max(longest, ids.size());
      // The begin token is never predicted, and never part of a sentence.
      if (std::ranges::count(ids, tokens_.ids().special.begin) > 0) {
        problems.Add("begin", "must not occur in the sentences of the data");
        return;
      }
      // WithoutPrompt() removes as many words as the prompt has. These words
      // must therefore have the tokens of the prompt.
      const auto first =
          absl::MakeConstSpan(caption.words).subspan(0, prompt_words_.size());
      if (ids.size() > prompt().size() && tokens_.Encode(first) == prompt()) {
        continue;
      }
      problems.Add("prompt",
                   "must be the words with which every sentence of the data "
                   "begins; each sentence must also have more words");
      return;
    }
  }
  // The decoder reads the begin token and the ids of a sentence.
  const auto needed = static_cast<int64_t>(longest) + 1;
  if (needed > captioner_.decoder().longest_position()) {
    problems.Add(
        "decoder",
        absl::StrCat("must support ", needed,
                     " positions, for the longest sentence in the data and ",
                     tokens_.Name(tokens_.ids().special.begin),
                     "; supports only ",
                     captioner_.decoder().longest_position()));
  }
}

std::vector<int32_t> CaptionModel::PromptIdsWithBegin(
    absl::Span<const std::string> words) const {
  std::vector<int32_t> ids = {tokens_.ids().special.begin};
  for (const int32_t id : tokens_.Encode(words)) ids.push_back(id);
  return ids;
}

std::vector<int32_t> CaptionModel::Encode(
    absl::Span<const std::string> words) const {
  std::vector<int32_t> ids = tokens_.Encode(words);
  ids.push_back(tokens_.ids().special.end);
  return ids;
}

int64_t CaptionModel::CountWork(absl::Span<const int64_t> examples) const {
  int64_t tokens = 0;
  for (const int64_t example : examples) {
    tokens +=
        std::ssize(train_[static_cast<size_t>(example)]) - std::ssize(prompt());
  }
  return tokens;
}

// The targets of the prompt are padding, because its tokens are read but never
// predicted.
DecoderBatch CaptionModel::MakeBatch(
    absl::Span<const std::vector<int32_t>> sentences,
    absl::Span<const int64_t> examples, Arena& arena) const {
  const auto rows = static_cast<int64_t>(examples.size());
  const SpecialIds& special = tokens_.ids().special;
  DecoderBatch batch = TeacherForcingBatch(
      rows, special.begin, special.pad, arena, [&](int64_t row) {
        return absl::MakeConstSpan(
            sentences[static_cast<size_t>(examples[row])]);
      });
  for (int64_t row = 0; row < rows; ++row) {
    std::fill_n(batch.target.data() + row * batch.input.time,
                std::min<int64_t>(std::ssize(prompt()), batch.input.time),
                special.pad);
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

Var<float> CaptionModel::TeacherForcedReadouts(
    Forward<float>& forward, const CaptionSet& set,
    absl::Span<const int64_t> images, const DecoderBatch& batch) const {
  return captioner_.decoder().Run(forward, EncodeImages(forward, set, images),
                                  batch.input.ids);
}

AttentionMap<float> CaptionModel::TeacherForcedAlignment(
    Forward<float>& forward, const CaptionSet& set,
    absl::Span<const int64_t> images, const DecoderBatch& batch,
    Var<float>* readout) const {
  const AlignmentChoice choice = captioner_.decoder().alignment();
  return MemoryAlignment<float>(
      RecordAttentionMaps(forward, AlignmentSites(choice),
                          [&] {
                            *readout = TeacherForcedReadouts(forward, set,
                                                             images, batch);
                          }),
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
      forward, TeacherForcedReadouts(forward, data_.train, images, batch),
      batch.target, loss_options().label_smoothing);
}

int64_t CaptionModel::PatchesPerImage(const CaptionSet& set) const {
  const ImageShape& shape = set.images.shape;
  const int64_t patch = config_.vision_transformer().patch();
  return (shape.height / patch) * (shape.width / patch);
}

std::vector<std::vector<Hypothesis>> CaptionModel::SearchCaptions(
    Forward<float>& forward, const CaptionSet& set,
    absl::Span<const int64_t> images, absl::Span<const int32_t> prompt,
    const SearchConfig& search) const {
  const int64_t longest = OutputLimit(search, PatchesPerImage(set), lengths_);
  std::vector<SourceSearchInputs> sources;
  for (const int64_t image : images) {
    sources.push_back({std::max<int64_t>(longest, 1),
                       Hash(static_cast<uint64_t>(image), kHashSeed), prompt});
  }
  const EnsembleMember member = {&captioner_.decoder(), &forward,
                                 [&](Forward<float>& of_member) {
                                   return EncodeImages(of_member, set, images);
                                 }};
  return Search(
      {.members = {&member, 1}, .sources = sources, .want_weights = false},
      search);
}

std::vector<std::vector<int32_t>> CaptionModel::GenerateCaptions(
    Forward<float>& forward, const CaptionSet& set,
    absl::Span<const int64_t> images) const {
  std::vector<std::vector<int32_t>> sentences;
  for (const auto& found :
       SearchCaptions(forward, set, images, prompt_, search_)) {
    sentences.push_back(found.front().ids);
  }
  return sentences;
}

std::vector<float> CaptionModel::CrossAttentionWeights(
    Forward<float>& forward, const CaptionSet& set, int64_t image,
    absl::Span<const int32_t> ids) const {
  const int64_t images[] = {image};
  std::vector<int32_t> sentence[] = {{ids.begin(), ids.end()}};
  sentence[0].push_back(tokens_.ids().special.end);
  const int64_t only[] = {0};
  forward.BeginStep();
  const DecoderBatch batch = MakeBatch(sentence, only, forward.tape().arena());
  Var<float> readout;
  const AttentionMap<float> map =
      TeacherForcedAlignment(forward, set, images, batch, &readout);
  std::vector<float> looks = map.weights;
  looks.resize(ids.size() * map.shape.cols());
  std::fill_n(looks.begin(), std::ssize(prompt()) * map.shape.cols(), 0.0F);
  return looks;
}

}  // namespace regard
