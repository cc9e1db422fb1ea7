#include "experiments/report/inspection_page.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/types/span.h"
#include "attention/inspection/attention_maps.h"
#include "attention/inspection/trace.h"
#include "experiments/report/inspection_report.h"
#include "experiments/report/report.h"
#include "experiments/report/svg.h"
#include "experiments/report/traced_maps.h"

namespace regard {

namespace {

// Returns the mean entropy and the mean weights of a head, in the order of
// HeadsTable().
std::array<double, 6> MeansOf(absl::Span<const float> head, size_t queries,
                              size_t keys) {
  const double share = 1 / static_cast<double>(queries);
  std::array<double, 6> means = {};
  for (size_t i = 0; i < queries; ++i) {
    const auto numbers_of = head.subspan(i * keys, keys);
    const std::vector<double> row(numbers_of.begin(), numbers_of.end());
    const double numbers[] = {Entropy(row),
                              i < keys ? row[i] : 0,
                              i > 0 && i <= keys ? row[i - 1] : 0,
                              i + 1 < keys ? row[i + 1] : 0,
                              row.front(),
                              row.back()};
    for (size_t n = 0; n < means.size(); ++n) means[n] += share * numbers[n];
  }
  return means;
}

const LayerHeadImportances* ImportanceOf(const Inspection<float>& inspection,
                                         const AttentionMap<float>& map) {
  const std::string context =
      absl::StrReplaceAll(map.site, {{"/weights", "/context"}});
  for (const LayerHeadImportances& of : inspection.heads) {
    if (of.site == context) return &of;
  }
  return nullptr;
}

// Returns the image of the keys, or of the queries if `of_queries`. Null if
// they are not patches of an image.
const TracedImage* ImageOf(const TraceDescription& labels,
                           const std::string& site, bool of_queries = false) {
  const SiteSequences* const of = labels.Find(site);
  if (of == nullptr) return nullptr;
  const TracedSequence& sequence =
      labels.sequences[of_queries ? of->queries : of->keys];
  return sequence.image.has_value() ? &*sequence.image : nullptr;
}

// Returns the weights from one query to the patches of an image. If `query` is
// -1, uses the class token, or the mean of all queries if there is no class
// token.
std::vector<double> PatchesOf(const TracedImage& image,
                              absl::Span<const double> matrix, size_t keys,
                              int64_t query) {
  const size_t rows = matrix.size() / keys;
  std::vector<double> row(keys, 0);
  const bool mean = query < 0 && image.first == 0;
  for (size_t i = 0; i < rows; ++i) {
    const bool taken =
        mean || static_cast<int64_t>(i) == std::max<int64_t>(query, 0);
    if (!taken) continue;
    for (size_t key = 0; key < keys; ++key) {
      row[key] +=
          matrix[i * keys + key] / (mean ? static_cast<double>(rows) : 1);
    }
  }
  return {row.begin() + image.first, row.end()};
}

// Returns pictures of the attention to an image. For self-attention, there is
// one picture per head. It shows the attention of the class token, or the mean
// over all tokens. In all other cases, there is one picture per output, which
// shows the mean over heads. If `only` is not -1, uses only this head.
std::vector<WeightedImage> PicturesOf(const Inspection<float>& inspection,
                                      const AttentionMap<float>& map,
                                      int only = -1) {
  const TraceDescription& labels = inspection.labels;
  const TracedImage& image = *ImageOf(labels, map.site);
  const LabelledMatrix matrix = WeightsOf(labels, map);
  const size_t keys = matrix.columns.size();
  std::vector<WeightedImage> pictures;
  if (ImageOf(labels, map.site, /*of_queries=*/true) != nullptr) {
    for (size_t head = 0; head < matrix.heads.size(); ++head) {
      if (only >= 0 && head != static_cast<size_t>(only)) continue;
      pictures.push_back(WeightedImageOf(
          image, PatchesOf(image, matrix.heads[head], keys, /*query=*/-1)));
      pictures.back().title = absl::StrCat("head ", head);
    }
    return pictures;
  }
  std::vector<double> mean(matrix.heads[0].size(), 0);
  if (only >= 0) {
    mean = matrix.heads[static_cast<size_t>(only)];
  } else {
    for (const std::vector<double>& head : matrix.heads) {
      for (size_t i = 0; i < mean.size(); ++i) {
        mean[i] += head[i] / static_cast<double>(matrix.heads.size());
      }
    }
  }
  for (const TracedOutputLabel& output : labels.outputs) {
    pictures.push_back(
        WeightedImageOf(image, PatchesOf(image, mean, keys, output.position)));
    pictures.back().title = output.name;
  }
  return pictures;
}

// Divides each number by the sum of all numbers, unless the sum is 0.
std::vector<double> SharesOf(std::vector<double> numbers) {
  const double sum = std::accumulate(numbers.begin(), numbers.end(), 0.0);
  for (double& number : numbers) number /= sum > 0 ? sum : 1;
  return numbers;
}

LabelledMatrix MatrixOf(const Rollout& rollout) {
  return {.title = rollout.stack,
          .rows = rollout.rows,
          .columns = rollout.columns,
          .heads = {rollout.shares}};
}

// Returns the image of the rollout, or null if it is not over an image.
const TracedImage* RolloutImage(const Inspection<float>& inspection,
                                const Rollout& rollout) {
  return ImageOf(inspection.labels, rollout.site);
}

// Returns a picture of the rollout from the class token, or of the mean over
// all tokens, to the patches.
WeightedImage WeightedImageOf(const Inspection<float>& inspection,
                              const Rollout& rollout) {
  const TracedImage& image = *RolloutImage(inspection, rollout);
  WeightedImage picture = WeightedImageOf(
      image, PatchesOf(image, rollout.shares, rollout.columns.size(),
                       /*query=*/-1));
  picture.title = "rollout";
  return picture;
}

// Combines consecutive hook points with equal labels into one matrix, with a
// row for each hook point.
std::vector<LabelledMatrix> MatricesOf(const PatchingResult& patched) {
  std::vector<LabelledMatrix> matrices;
  for (const PatchedSite& of : patched.sites) {
    if (matrices.empty() || matrices.back().columns != of.labels) {
      matrices.push_back({.title = "change of the output",
                          .columns = of.labels,
                          .heads = {{}}});
    }
    LabelledMatrix& matrix = matrices.back();
    matrix.rows.push_back(of.site);
    matrix.heads[0].insert(matrix.heads[0].end(), of.changes.begin(),
                           of.changes.end());
  }
  return matrices;
}

// Adds the weights of a map to the grid of its stack, for one head, or for all
// heads if `head` is -1.
void AddToGrid(const TraceDescription& labels, const AttentionMap<float>& map,
               int head, std::vector<MapGrid>* grids) {
  LabelledMatrix weights = WeightsOf(labels, map);
  std::vector<std::string> head_names;
  if (head >= 0) {
    weights.heads = {weights.heads[static_cast<size_t>(head)]};
    head_names = {absl::StrCat("head ", head)};
  }
  const std::string title = AllLayersPattern(map.site);
  const std::string layer = absl::StrCat("layer ", map.layer);
  for (MapGrid& grid : *grids) {
    const LabelledMatrix& other = grid.maps.front();
    if (grid.title == title && other.rows == weights.rows &&
        other.columns == weights.columns &&
        other.heads.size() == weights.heads.size()) {
      grid.maps.push_back(std::move(weights));
      grid.map_names.push_back(layer);
      return;
    }
  }
  grids->push_back({.title = title,
                    .maps = {std::move(weights)},
                    .map_names = {layer},
                    .head_names = std::move(head_names),
                    .unit = "attention weight"});
}

Section AttentionOf(const Inspection<float>& inspection) {
  Section section = AttentionSection({inspection});
  std::vector<Block> pictures;
  Maps others;
  for (const AttentionMap<float>& map : inspection.maps) {
    if (ImageOf(inspection.labels, map.site) != nullptr) {
      pictures.push_back(Heading{map.site});
      pictures.push_back(PicturesOf(inspection, map));
    } else if (!map.over_memory && inspection.AlignmentMap() != nullptr &&
               inspection.AlignmentMap()->over_memory) {
      others.maps.push_back(WeightsOf(inspection.labels, map));
    }
  }
  // Inserts the tables before the maps.
  const auto is_maps = [](const Block& block) {
    return std::holds_alternative<Maps>(block);
  };
  section.blocks.insert(
      std::find_if(section.blocks.begin(), section.blocks.end(), is_maps),
      pictures.begin(), pictures.end());
  if (!others.maps.empty()) {
    section.blocks.push_back(Heading{"Self-attention"});
    section.blocks.push_back(std::move(others));
  }
  return section;
}

// Returns a section with the maps whose gradients no other section shows.
Section GradientsOf(const Inspection<float>& inspection) {
  Maps maps;
  for (const AttentionMap<float>& map : inspection.maps) {
    if (map.over_memory || map.gradients.empty() ||
        inspection.AlignmentMap() == nullptr ||
        !inspection.AlignmentMap()->over_memory) {
      continue;
    }
    maps.maps.push_back(GradientsOf(inspection.labels, map));
  }
  if (maps.maps.empty()) return {"Gradients", {}};
  return {
      "Gradients",
      {"Each cell shows the gradient of the output with respect to a weight of "
       "self-attention. Rows that write a word show the gradient of this word. "
       "All other rows show the gradient of the chosen output.",
       std::move(maps)}};
}

Section HeadsOf(const Inspection<float>& inspection) {
  if (inspection.maps.empty()) return {"Heads", {}};
  return {"Heads",
          {"The importance of a head is |sum(context * gradient)|, with the "
           "gradient of the chosen output with respect to the context (Michel "
           "et al., 2019). Entropy is in nats. It is 0 if one position has all "
           "of the weight. All other columns are mean weights over the queries "
           "(Clark et al., 2019): the position itself, its neighbours, the "
           "first position and the last position.",
           HeadsTable(inspection)}};
}

Section LensOf(const Inspection<float>& inspection) {
  if (inspection.lens.empty()) return {"What each layer would predict", {}};
  Table table = {{""}};
  for (size_t layer = 0; layer < inspection.lens.size(); ++layer) {
    table.header.push_back(absl::StrCat("layer ", layer + 1));
  }
  for (size_t row = 0; row < inspection.lens_rows.size(); ++row) {
    std::vector<std::string> cells = {inspection.lens_rows[row]};
    for (const LogitLensLayer& layer : inspection.lens) {
      const Prediction::Choice& best = layer.rows[row].front();
      cells.push_back(absl::StrFormat("%s %.3f", best.name, best.probability));
    }
    table.rows.push_back(std::move(cells));
  }
  return {"What each layer would predict",
          {"Each cell shows the most likely prediction if the model ended "
           "after this layer, with its probability. The last norm and the head "
           "of the model read the output of the layer (the logit lens).",
           std::move(table)}};
}

Section InputsOf(const Inspection<float>& inspection) {
  Section section = {"Inputs", {}};
  Maps maps;
  for (const InputGradientNorms& of : inspection.inputs) {
    const std::vector<double> shares = SharesOf(of.norms);
    if (const TracedImage* const image =
            ImageOf(inspection.labels, of.site, /*of_queries=*/true);
        image != nullptr) {
      section.blocks.push_back(std::vector<WeightedImage>{WeightedImageOf(
          *image, {shares.begin() + image->first, shares.end()})});
      continue;
    }
    maps.maps.push_back({.title = of.site,
                         .rows = {"fraction"},
                         .columns = of.labels,
                         .heads = {shares}});
  }
  if (!maps.maps.empty()) section.blocks.push_back(std::move(maps));
  if (section.blocks.empty()) return section;
  section.blocks.insert(
      section.blocks.begin(),
      "The numbers show how much the chosen output depends on each input. They "
      "are the norm of its gradient with respect to a position, as a fraction "
      "of the sum over all positions.");
  return section;
}

Section RolloutOf(const Inspection<float>& inspection) {
  Section section = {"Rollout", {}};
  Maps maps;
  for (const Rollout& rollout : inspection.rollouts) {
    if (RolloutImage(inspection, rollout) == nullptr) {
      maps.maps.push_back(MatrixOf(rollout));
      continue;
    }
    section.blocks.push_back(
        std::vector<WeightedImage>{WeightedImageOf(inspection, rollout)});
  }
  if (!maps.maps.empty()) section.blocks.push_back(std::move(maps));
  if (section.blocks.empty()) return section;
  section.blocks.insert(
      section.blocks.begin(),
      "Attention rollout shows how much of each input reaches each position. "
      "It follows all layers of self-attention and their residual connections "
      "(Abnar and Zuidema, 2020).");
  return section;
}

Section PatchOf(const InspectedPrediction& prediction) {
  if (!prediction.patched.has_value()) return {"Patch", {}};
  return {"Patch",
          {absl::StrFormat(
               "The output is %.4f. For the other input, '%s', it is %.4f. A "
               "cell shows how much the output changes if one position of a "
               "hook point gets its value from the other input.",
               prediction.patched->value, prediction.other_input,
               prediction.patched->other_value),
           Maps{MatricesOf(*prediction.patched)}}};
}

}  // namespace

Table HeadsTable(const Inspection<float>& inspection) {
  Table table = {{"attention", "head", "importance", "entropy", "itself",
                  "before", "after", "first", "last"}};
  for (const AttentionMap<float>& map : inspection.maps) {
    const auto queries = static_cast<size_t>(map.shape[2]);
    const auto keys = static_cast<size_t>(map.shape[3]);
    const LayerHeadImportances* const importance =
        ImportanceOf(inspection, map);
    for (size_t head = 0; head < static_cast<size_t>(map.shape[1]); ++head) {
      std::vector<std::string> row = {
          map.site, absl::StrCat(head),
          importance == nullptr
              ? ""
              : absl::StrFormat("%.3g", importance->heads[head])};
      const std::array<double, 6> means =
          MeansOf(absl::MakeConstSpan(map.weights)
                      .subspan(head * queries * keys, queries * keys),
                  queries, keys);
      for (size_t i = 0; i < means.size(); ++i) {
        row.push_back(i == 0 || !map.over_memory
                          ? absl::StrFormat("%.3f", means[i])
                          : "");
      }
      table.rows.push_back(std::move(row));
    }
  }
  return table;
}

absl::Status CheckLayerHeadSelection(const Inspection<float>& inspection,
                                     const LayerHeadSelection& choice) {
  int64_t layers = 0;
  int64_t heads = 0;
  for (const AttentionMap<float>& map : inspection.maps) {
    layers = std::max(layers, map.layer + 1);
    if (choice.layer < 0 || map.layer == choice.layer) {
      heads = std::max(heads, map.shape[1]);
    }
  }
  if (choice.layer >= layers) {
    return absl::InvalidArgumentError(
        absl::StrCat("error: --layer=", choice.layer, ": must be less than ",
                     layers, ", the number of layers with attention"));
  }
  if (choice.head >= heads) {
    return absl::InvalidArgumentError(
        absl::StrCat("error: --head=", choice.head, ": must be less than ",
                     heads, ", the number of heads"));
  }
  return absl::OkStatus();
}

std::string InspectionSvg(const InspectedPrediction& prediction,
                          const LayerHeadSelection& choice) {
  const Inspection<float>& inspection = prediction.inspection;
  std::vector<MapGrid> grids;
  std::vector<WeightedImagesRow> pictures;
  for (const AttentionMap<float>& map : inspection.maps) {
    if (choice.layer >= 0 && map.layer != choice.layer) continue;
    if (choice.head >= map.shape[1]) continue;
    if (ImageOf(inspection.labels, map.site) == nullptr) {
      AddToGrid(inspection.labels, map, choice.head, &grids);
    } else {
      pictures.push_back({map.site, PicturesOf(inspection, map, choice.head)});
    }
  }
  for (MapGrid& grid : grids) {
    // The title of a grid with a single map is the name of its hook point.
    if (grid.maps.size() > 1) continue;
    grid.title = grid.maps[0].site;
    grid.map_names.clear();
  }
  const bool all = choice.layer < 0 && choice.head < 0;
  for (const Rollout& rollout : inspection.rollouts) {
    if (!all) break;
    if (RolloutImage(inspection, rollout) != nullptr) {
      pictures.push_back(
          {rollout.stack, {WeightedImageOf(inspection, rollout)}});
    } else {
      grids.push_back(
          {.title = absl::StrCat(rollout.stack, ": rollout"),
           .maps = {MatrixOf(rollout)},
           .unit = "fraction of the input that reaches a position"});
    }
  }
  if (all && prediction.patched.has_value()) {
    for (LabelledMatrix& matrix : MatricesOf(*prediction.patched)) {
      grids.push_back({.title = matrix.title,
                       .maps = {std::move(matrix)},
                       .unit = "change of the output"});
    }
  }
  return FiguresSvg(grids, pictures);
}

std::string InspectionHtml(const InspectedPrediction& prediction,
                           const std::string& name) {
  const Inspection<float>& inspection = prediction.inspection;
  Report report = {.title = absl::StrCat(name, ": inspection"),
                   .summary =
                       "Attention of the model during a prediction, and its "
                       "effect on the output"};
  for (const Section& section :
       {AttentionOf(inspection), GradientsOf(inspection), HeadsOf(inspection),
        LensOf(inspection), InputsOf(inspection), RolloutOf(inspection),
        PatchOf(prediction)}) {
    report.Add(section);
  }
  return ReportHtml(report);
}

}  // namespace regard
