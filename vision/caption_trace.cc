// Predictions and traces of a CaptionModel.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
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

absl::StatusOr<CaptionModel::Asked> CaptionModel::Read(
    const Question& question) const {
  std::vector<std::string> prompt =
      question.prompt.has_value() ? CaptionTokens::Prompt(*question.prompt)
                                  : prompt_words_;
  // The first id takes one position.
  const int64_t most = captioner_.decoder().longest_position() - 1;
  const int64_t count = std::ssize(tokens_.Encode(prompt));
  if (count > most) {
    return absl::InvalidArgumentError(absl::StrCat(
        "prompt: has ", count, tokens_.words() ? " words" : " tokens",
        "; the model reads at most ", most));
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

absl::StatusOr<std::vector<CaptionModel::Described>> CaptionModel::Describe(
    Forward<float>& forward, const Question& question,
    const SearchConfig& search) const {
  REGARD_ASSIGN_OR_RETURN(const Asked asked, Read(question));
  const std::vector<std::vector<Hypothesis>> found = Write(
      forward, *asked.set, {asked.image}, PromptIds(asked.prompt), search);
  std::vector<Described> all;
  for (const Hypothesis& hypothesis : found.front()) {
    all.push_back(
        {absl::StrJoin(tokens_.Decode(hypothesis.ids, asked.prompt), " "),
         hypothesis.ids, hypothesis.score, hypothesis.at_limit});
  }
  return all;
}

Hypothesis CaptionModel::Continue(Forward<float>& forward,
                                  const Asked& asked) const {
  return Write(forward, *asked.set, {asked.image}, PromptIds(asked.prompt),
               search_)
      .front()
      .front();
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
  const Hypothesis best = Continue(forward, asked);
  answer.text = absl::StrJoin(tokens_.Decode(best.ids), " ");
  if (best.at_limit) answer.notes.push_back(LimitNote(best));
  return answer;
}

CaptionModel::Written CaptionModel::WrittenAs(std::vector<int32_t> ids) const {
  Written written = {.text = absl::StrJoin(tokens_.Decode(ids), " ")};
  for (const int32_t id : ids) written.names.push_back(tokens_.Name(id));
  written.ids = std::move(ids);
  return written;
}

absl::StatusOr<Traced<float>> CaptionModel::Trace(
    Forward<float>& forward, const Question& question,
    const TraceOptions& options) const {
  if (options.beam > 0) {
    return absl::InvalidArgumentError(
        "beam: does not apply to a captioner, which uses the search in its "
        "run's config");
  }
  REGARD_ASSIGN_OR_RETURN(const Asked asked, Read(question));
  if (!options.target.has_value()) {
    const Hypothesis best = Continue(forward, asked);
    Traced<float> traced = TraceWritten(asked, question, WrittenAs(best.ids));
    if (best.at_limit) traced.labels.notes.push_back(LimitNote(best));
    return traced;
  }
  const std::vector<std::string> words = CaptionTokens::Prompt(*options.target);
  Written written = {tokens_.Encode(words), tokens_.Names(words),
                     absl::StrJoin(words, " ")};
  if (!options.target->empty()) {
    const int64_t room = captioner_.decoder().longest_position() -
                         std::ssize(PromptIds(asked.prompt));
    REGARD_RETURN_IF_ERROR(CheckTracedSize(
        "target", written.ids.size(), std::min(options.most_tokens, room)));
  }
  Traced<float> traced = TraceWritten(asked, question, std::move(written));
  for (std::string& note : tokens_.NotesOn(words)) {
    traced.labels.notes.push_back(std::move(note));
  }
  return traced;
}

absl::StatusOr<Traced<float>> CaptionModel::Trace(
    const Question& question, std::vector<int32_t> ids) const {
  REGARD_ASSIGN_OR_RETURN(const Asked asked, Read(question));
  return TraceWritten(asked, question, WrittenAs(std::move(ids)));
}

Traced<float> CaptionModel::TraceWritten(const Asked& asked,
                                         const Question& question,
                                         Written written) const {
  const SpecialIds& special = tokens_.ids().special;
  Traced<float> traced;
  TraceLabels& labels = traced.labels;
  labels.input = question.example < 0
                     ? question.text
                     : absl::StrCat("image ", question.example);
  labels.answer = written.text;
  labels.target = labels.answer;
  std::vector<int32_t> ids = tokens_.Encode(asked.prompt);
  std::vector<std::string> names = tokens_.Names(asked.prompt);
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
    return PickEach(Slice(rows.Reshape({rows.rows(), rows.cols()}),
                          /*axis=*/0, prompt, rows.rows() - prompt),
                    absl::MakeConstSpan(ids).subspan(prompt));
  };
  traced.lens = LensOf<float>(
      captioner_.decoder(), labels.sequences[0].writes,
      [this](size_t id) { return tokens_.Name(static_cast<int32_t>(id)); });
  return traced;
}

}  // namespace regard
