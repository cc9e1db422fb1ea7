// Predictions and traces of a CaptionModel.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "attention/inspection/attention_maps.h"
#include "attention/inspection/trace.h"
#include "autodiff/ops/shape_ops.h"
#include "autodiff/ops/softmax.h"
#include "data/images/image_file.h"
#include "evaluation/prediction.h"
#include "seq2seq/decoder.h"
#include "seq2seq/decoder_lens.h"
#include "seq2seq/decoding/search.h"
#include "seq2seq/memory_alignment.h"
#include "third_party/abseil_backport/status_macros.h"
#include "vision/caption_model.h"
#include "vision/image_trace.h"

namespace regard {

namespace {

std::string LimitNote(const Hypothesis& sentence) {
  return absl::StrCat("the sentence stopped at its limit of ",
                      sentence.num_choices(),
                      " ids; raise search.max_length for a longer one");
}

}  // namespace

absl::StatusOr<CaptionModel::EncodedInput> CaptionModel::Read(
    const PredictionRequest& request) const {
  std::vector<std::string> prompt =
      request.prompt.has_value()
          ? CaptionTokens::SplitIntoWords(*request.prompt)
          : prompt_words_;
  // The first id takes one position.
  const int64_t most = captioner_.decoder().longest_position() - 1;
  const int64_t count = std::ssize(tokens_.Encode(prompt));
  if (count > most) {
    return absl::InvalidArgumentError(absl::StrCat(
        "prompt: has ", count, tokens_.words() ? " words" : " tokens",
        "; the model reads at most ", most));
  }
  if (request.example < 0) {
    const auto typed = std::make_shared<CaptionSet>();
    REGARD_ASSIGN_OR_RETURN(typed->images,
                            ReadImageLike(request.text, data_.train.images));
    return EncodedInput{typed, typed.get(), 0, std::move(prompt)};
  }
  const CaptionSet& set = data_.test.size() > 0 ? data_.test : data_.dev;
  REGARD_RETURN_IF_ERROR(
      CheckExample(request, static_cast<size_t>(set.size())));
  return EncodedInput{nullptr, &set, request.example, std::move(prompt)};
}

absl::StatusOr<std::vector<CaptionModel::Described>> CaptionModel::Describe(
    Forward<float>& forward, const PredictionRequest& request,
    const SearchConfig& search) const {
  REGARD_ASSIGN_OR_RETURN(const EncodedInput encoded, Read(request));
  const std::vector<std::vector<Hypothesis>> found =
      SearchCaptions(forward, *encoded.set, {encoded.image},
                     PromptIdsWithBegin(encoded.prompt), search);
  std::vector<Described> all;
  for (const Hypothesis& hypothesis : found.front()) {
    all.push_back(
        {absl::StrJoin(tokens_.Decode(hypothesis.ids, encoded.prompt), " "),
         hypothesis.ids, hypothesis.score, hypothesis.at_limit});
  }
  return all;
}

Hypothesis CaptionModel::Continue(Forward<float>& forward,
                                  const EncodedInput& encoded) const {
  return SearchCaptions(forward, *encoded.set, {encoded.image},
                        PromptIdsWithBegin(encoded.prompt), search_)
      .front()
      .front();
}

absl::StatusOr<Prediction> CaptionModel::Predict(
    Forward<float>& forward, const PredictionRequest& request) const {
  REGARD_ASSIGN_OR_RETURN(const EncodedInput encoded, Read(request));
  Prediction prediction = {.input = request.text};
  if (encoded.typed == nullptr) {
    prediction.input = absl::StrCat("image ", encoded.image);
    prediction.reference = absl::StrJoin(
        WithoutPrompt(encoded.set->of(encoded.image).front()), " ");
  }
  const Hypothesis best = Continue(forward, encoded);
  prediction.text = absl::StrJoin(tokens_.Decode(best.ids), " ");
  if (best.at_limit) prediction.notes.push_back(LimitNote(best));
  return prediction;
}

CaptionModel::CaptionAfterPrompt CaptionModel::DecodeAfterPrompt(
    std::vector<int32_t> ids) const {
  CaptionAfterPrompt written = {.text =
                                    absl::StrJoin(tokens_.Decode(ids), " ")};
  for (const int32_t id : ids) written.names.push_back(tokens_.Name(id));
  written.ids = std::move(ids);
  return written;
}

absl::StatusOr<TraceablePrediction<float>> CaptionModel::Trace(
    Forward<float>& forward, const PredictionRequest& request,
    const TraceOptions& options) const {
  if (options.beam > 0) {
    return absl::InvalidArgumentError(
        "beam: does not apply to a captioner, which uses the search in its "
        "run's config");
  }
  REGARD_ASSIGN_OR_RETURN(const EncodedInput encoded, Read(request));
  if (!options.target.has_value()) {
    const Hypothesis best = Continue(forward, encoded);
    TraceablePrediction<float> traced =
        TraceCaption(encoded, request, DecodeAfterPrompt(best.ids));
    if (best.at_limit) traced.labels.notes.push_back(LimitNote(best));
    return traced;
  }
  const std::vector<std::string> words =
      CaptionTokens::SplitIntoWords(*options.target);
  CaptionAfterPrompt written = {tokens_.Encode(words), tokens_.Names(words),
                                absl::StrJoin(words, " ")};
  if (!options.target->empty()) {
    const int64_t room = captioner_.decoder().longest_position() -
                         std::ssize(PromptIdsWithBegin(encoded.prompt));
    REGARD_RETURN_IF_ERROR(CheckTracedSize(
        "target", written.ids.size(), std::min(options.most_tokens, room)));
  }
  TraceablePrediction<float> traced =
      TraceCaption(encoded, request, std::move(written));
  for (std::string& note : tokens_.UnknownWordNotes(words)) {
    traced.labels.notes.push_back(std::move(note));
  }
  return traced;
}

absl::StatusOr<TraceablePrediction<float>> CaptionModel::Trace(
    const PredictionRequest& request, std::vector<int32_t> ids) const {
  REGARD_ASSIGN_OR_RETURN(const EncodedInput encoded, Read(request));
  return TraceCaption(encoded, request, DecodeAfterPrompt(std::move(ids)));
}

TraceablePrediction<float> CaptionModel::TraceCaption(
    const EncodedInput& encoded, const PredictionRequest& request,
    CaptionAfterPrompt written) const {
  const SpecialIds& special = tokens_.ids().special;
  TraceablePrediction<float> traced;
  TraceDescription& labels = traced.labels;
  labels.input = request.example < 0 ? request.text
                                     : absl::StrCat("image ", request.example);
  labels.prediction = written.text;
  labels.target = labels.prediction;
  std::vector<int32_t> ids = tokens_.Encode(encoded.prompt);
  std::vector<std::string> names = tokens_.Names(encoded.prompt);
  const int64_t prompt = std::ssize(ids);
  std::ranges::copy(written.ids, std::back_inserter(ids));
  std::ranges::move(written.names, std::back_inserter(names));
  // A sentence that did not end may exceed the decoder's positions.
  const auto longest = static_cast<size_t>(std::min(
      kMaxTraced + prompt, captioner_.decoder().longest_position() - 1));
  if (ids.size() > longest) {
    labels.notes.push_back(absl::StrCat(
        "the sentence is cut: only ", static_cast<int64_t>(longest) - prompt,
        " of ", std::ssize(ids) - prompt, " ids are shown"));
    ids.resize(longest);
  }
  names.resize(ids.size());
  ids.push_back(special.end);
  TracedSequence sentence = {.name = "sentence",
                             .labels = {tokens_.Name(special.begin)}};
  sentence.labels.insert(sentence.labels.end(), names.begin(), names.end());
  sentence.writes = std::move(names);
  sentence.writes.push_back(tokens_.Name(special.end));
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
        PatchesOf(encoded.set->images, encoded.image, *captioner_.encoder()));
    const AlignmentChoice choice = captioner_.decoder().alignment();
    labels.alignment = AlignmentSites(choice)[0];
    labels.alignment_head = choice.head;
  }
  traced.pass = [this, encoded, ids, prompt](Forward<float>& with) {
    const Decoder<float>& decoder = captioner_.decoder();
    const DecoderBatch batch =
        MakeBatch(absl::MakeConstSpan(&ids, 1), {0}, with.tape().arena());
    const Var<float> rows = LogSoftmax(decoder.head().Logits(
        with,
        TeacherForcedReadouts(with, *encoded.set, {encoded.image}, batch)));
    return PickPerRow(Slice(rows.Reshape({rows.rows(), rows.cols()}),
                            /*axis=*/0, prompt, rows.rows() - prompt),
                      absl::MakeConstSpan(ids).subspan(prompt));
  };
  traced.lens = MakeLogitLens<float>(
      captioner_.decoder(), labels.sequences[0].writes,
      [this](size_t id) { return tokens_.Name(static_cast<int32_t>(id)); });
  return traced;
}

}  // namespace regard
