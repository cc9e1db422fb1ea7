// Evaluation of a CaptionModel.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "attention/inspection/attention_maps.h"
#include "data/images/caption_set.h"
#include "evaluation/batches.h"
#include "optimization/model.h"
#include "seq2seq/metrics/bleu.h"
#include "seq2seq/metrics/cider.h"
#include "seq2seq/output_head.h"
#include "vision/caption_model.h"

namespace regard {

namespace {

constexpr int64_t kEvaluationBatch = 64;

}  // namespace

double Pointing::Accuracy() const {
  return words == 0 ? 0
                    : static_cast<double>(correct) / static_cast<double>(words);
}

double Pointing::MeanMass() const {
  return words == 0 ? 0 : mass / static_cast<double>(words);
}

std::vector<double> CaptionModel::SumByQuadrant(
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

void CaptionModel::AddWordPointing(absl::Span<const float> tokens,
                                   int32_t quadrant, Pointing* pointing) const {
  const std::vector<double> shares = SumByQuadrant(tokens);
  const double own = shares[static_cast<size_t>(quadrant)];
  ++pointing->words;
  // A quadrant that ties for the most attention does not count as correct.
  const auto as_large = std::count_if(shares.begin(), shares.end(),
                                      [&](double s) { return s >= own; });
  if (as_large == 1) ++pointing->correct;
  pointing->mass += own;
}

double CaptionModel::UniformMass(const CaptionSet& set) const {
  const auto tokens = static_cast<size_t>(captioner_.encoder()->tokens());
  const std::vector<float> uniform(tokens, 1.0F / static_cast<float>(tokens));
  const std::vector<double> shares = SumByQuadrant(uniform);
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

std::vector<EvaluatedSet> CaptionModel::Evaluate(Forward<float>& forward,
                                                 Split split) const {
  if (split == Split::kTrain) return {};
  const CaptionSet& set = split == Split::kDev ? data_.dev : data_.test;
  if (set.size() == 0) return {};
  std::vector<std::vector<int32_t>> sentences;
  for (const Caption& caption : set.captions) {
    sentences.push_back(Encode(caption.words));
  }
  const bool points = captioner_.encoder() != nullptr && set.points();
  TokenScoreSums scores;
  Pointing pointing;
  struct Measured {
    TokenScoreSums scores;
    AttentionMap<float> map;  // [sentences, 1, words, tokens of an image]

    auto members() { return std::tie(scores, map.shape, map.weights); }
  };
  const auto measure = [&](Forward<float>& passes,
                           absl::Span<const int64_t> captions) {
    const DecoderBatch batch =
        MakeBatch(sentences, captions, passes.tape().arena());
    std::vector<int64_t> images;
    for (const int64_t caption : captions) {
      images.push_back(set.captions[static_cast<size_t>(caption)].image);
    }
    Measured measured;
    Var<float> readout;
    measured.map = TeacherForcedAlignment(passes, set, images, batch, &readout);
    measured.scores =
        ScoreTokens(captioner_.decoder().head(), passes, readout, batch.target);
    return measured;
  };
  const auto add = [&](absl::Span<const int64_t> captions,
                       const Measured& measured) {
    scores += measured.scores;
    const AttentionMap<float>& map = measured.map;
    for (size_t i = 0; points && i < captions.size(); ++i) {
      const Caption& caption = set.captions[static_cast<size_t>(captions[i])];
      const std::vector<int32_t> quadrants = TokenQuadrants(caption);
      for (size_t token = 0; token < quadrants.size(); ++token) {
        if (quadrants[token] < 0) continue;
        const auto tokens = static_cast<size_t>(map.shape.cols());
        const size_t row = i * static_cast<size_t>(map.shape[2]) + token;
        AddWordPointing(
            absl::MakeConstSpan(map.weights).subspan(row * tokens, tokens),
            quadrants[token], &pointing);
      }
    }
  };
  ForEachBatch(forward, std::ssize(set.captions), kEvaluationBatch, measure,
               add);
  EvaluatedSet evaluated;
  EvaluateGeneratedCaptions(forward, set, &evaluated);
  const auto count = static_cast<double>(scores.count);
  evaluated.totals["loss"] = scores.loss / count;
  evaluated.totals["token_accuracy"] =
      static_cast<double>(scores.correct) / count;
  if (points) {
    evaluated.totals["pointing_accuracy"] = pointing.Accuracy();
    evaluated.totals["pointing_mass"] = pointing.MeanMass();
  }
  return {std::move(evaluated)};
}

std::vector<std::string> CaptionModel::WithoutPrompt(
    const Caption& caption) const {
  return tokens_.SpelledAsDecoded(
      absl::MakeConstSpan(caption.words).subspan(prompt_words_.size()));
}

std::vector<int32_t> CaptionModel::TokenQuadrants(
    const Caption& caption) const {
  std::vector<int32_t> quadrants;
  for (size_t i = 0; i < caption.words.size(); ++i) {
    const size_t ids = tokens_.Encode({caption.words[i]}).size();
    if (ids == 0) continue;
    quadrants.push_back(caption.quadrants[i]);
    quadrants.insert(quadrants.end(), ids - 1, -1);
  }
  return quadrants;
}

void CaptionModel::EvaluateGeneratedCaptions(Forward<float>& forward,
                                             const CaptionSet& set,
                                             EvaluatedSet* evaluated) const {
  using Words = std::vector<std::string>;
  struct Sentences {
    std::vector<Words> words;
    int64_t cut = 0;  // number of sentences truncated at the limit

    auto members() { return std::tie(words, cut); }
  };
  std::vector<Words> written;
  int64_t cut = 0;
  const auto write = [&](Forward<float>& passes,
                         absl::Span<const int64_t> images) {
    Sentences of_batch;
    for (const auto& found :
         SearchCaptions(passes, set, images, prompt_, search_)) {
      of_batch.words.push_back(tokens_.Decode(found.front().ids));
      if (found.front().at_limit) ++of_batch.cut;
    }
    return of_batch;
  };
  ForEachBatch(forward, set.size(), kEvaluationBatch, write,
               [&](auto, const Sentences& of_batch) {
                 written.insert(written.end(), of_batch.words.begin(),
                                of_batch.words.end());
                 cut += of_batch.cut;
               });
  std::vector<std::vector<Words>> references(written.size());
  for (const Caption& caption : set.captions) {
    references[static_cast<size_t>(caption.image)].push_back(
        WithoutPrompt(caption));
  }
  const std::vector<double> cider = CiderD(written, references);
  MetricOverExamples exact_match = {"exact_match"};
  MetricOverExamples bleu = {"bleu", &kBleu};
  MetricOverExamples cider_d = {"cider_d", &kRatio,
                                /*of_single_examples=*/true};
  for (size_t i = 0; i < written.size(); ++i) {
    const std::string text = absl::StrJoin(written[i], " ");
    std::vector<std::string> wanted;
    for (const Words& reference : references[i]) {
      wanted.push_back(absl::StrJoin(reference, " "));
    }
    exact_match.Add({std::ranges::count(wanted, text) > 0 ? 1.0 : 0.0, 1});
    bleu.Add(BleuStatistics(text, wanted, BleuTokenizer::kNone));
    cider_d.Add({cider[i], 1});
    evaluated->examples.push_back({.input = absl::StrCat("image ", i),
                                   .reference = wanted.front(),
                                   .output = text});
  }
  evaluated->metrics = {std::move(exact_match), std::move(bleu),
                        std::move(cider_d)};
  evaluated->totals["cut_outputs"] = static_cast<double>(cut);
}

}  // namespace regard
