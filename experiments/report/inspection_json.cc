#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "attention/inspection/attention_maps.h"
#include "attention/inspection/trace.h"
#include "experiments/report/inspection_page.h"
#include "files/file.h"
#include "files/safetensors.h"
#include "nlohmann/json.hpp"

namespace regard {

namespace {

using Json = nlohmann::ordered_json;

template <typename Numbers>
Json Rows(const Numbers& numbers, size_t first, size_t rows, size_t columns) {
  Json all = Json::array();
  for (size_t row = 0; row < rows; ++row) {
    const auto begin =
        numbers.begin() + static_cast<int64_t>(first + row * columns);
    all.push_back(
        std::vector<double>(begin, begin + static_cast<int64_t>(columns)));
  }
  return all;
}

// Returns one matrix per head.
Json Heads(const std::vector<float>& numbers, const AttentionMap<float>& map) {
  Json heads = Json::array();
  const auto rows = static_cast<size_t>(map.shape[2]);
  const auto columns = static_cast<size_t>(map.shape[3]);
  for (size_t head = 0; head < static_cast<size_t>(map.shape[1]); ++head) {
    heads.push_back(Rows(numbers, head * rows * columns, rows, columns));
  }
  return heads;
}

Json JsonOf(const TraceDescription& labels, const AttentionMap<float>& map) {
  Json json = {{"site", map.site},
               {"name", map.name},
               {"rows", labels.QueryLabels(map.site, map.shape[2])},
               {"columns", labels.KeyLabels(map.site, map.shape[3])},
               {"heads", Heads(map.weights, map)}};
  if (!map.gradients.empty()) json["gradients"] = Heads(map.gradients, map);
  if (!map.over_memory || labels.gold.empty()) return json;
  for (const TraceDescription::Link& link : labels.gold) {
    json["gold"].push_back({link.query, link.key});
  }
  return json;
}

Json JsonOf(const LogitLensLayer& layer,
            const std::vector<std::string>& names) {
  Json rows = Json::array();
  for (size_t row = 0; row < layer.rows.size(); ++row) {
    Json choices = Json::array();
    for (const auto& [name, probability] : layer.rows[row]) {
      choices.push_back({{"name", name}, {"probability", probability}});
    }
    rows.push_back({{"row", names[row]}, {"choices", std::move(choices)}});
  }
  return {{"site", layer.site}, {"rows", std::move(rows)}};
}

// The tensors of a file of arrays. Owns the memory of values that are not
// stored as floats elsewhere.
class Arrays {
 public:
  template <typename Numbers>
  void Add(std::string name, std::vector<int64_t> shape,
           const Numbers& numbers) {
    tensors_.push_back(
        {std::move(name), std::move(shape), {numbers.begin(), numbers.end()}});
  }

  absl::Status Write(const std::string& path) const {
    std::vector<NamedTensorView> views;
    for (const Tensor& of : tensors_) {
      views.push_back({of.name, of.shape, of.values});
    }
    return WriteSafetensorsFile(path, views, {}, SystemFiles());
  }

 private:
  struct Tensor {
    std::string name;
    std::vector<int64_t> shape;
    std::vector<float> values;
  };
  std::vector<Tensor> tensors_;
};

}  // namespace

nlohmann::ordered_json InspectionJson(const InspectedPrediction& prediction) {
  const Inspection<float>& inspection = prediction.inspection;
  const TraceDescription& labels = inspection.labels;
  Json json = {{"input", labels.input},
               {"answer", labels.prediction},
               {"output_unit", labels.output_unit},
               {"outputs", Json::array()},
               {"chosen", nullptr}};
  for (size_t i = 0; i < labels.outputs.size(); ++i) {
    json["outputs"].push_back(
        {{"name", labels.outputs[i].name}, {"value", inspection.outputs[i]}});
  }
  if (inspection.chosen >= 0) json["chosen"] = inspection.chosen;
  json["maps"] = Json::array();
  for (const AttentionMap<float>& map : inspection.maps) {
    json["maps"].push_back(JsonOf(labels, map));
  }
  for (const LayerHeadImportances& of : inspection.heads) {
    json["head_importance"].push_back({{"site", of.site}, {"heads", of.heads}});
  }
  for (const LogitLensLayer& layer : inspection.lens) {
    json["lens"].push_back(JsonOf(layer, inspection.lens_rows));
  }
  for (const InputGradientNorms& of : inspection.inputs) {
    json["inputs"].push_back(
        {{"site", of.site}, {"labels", of.labels}, {"norms", of.norms}});
  }
  for (const Rollout& of : inspection.rollouts) {
    json["rollout"].push_back(
        {{"stack", of.stack},
         {"rows", of.rows},
         {"columns", of.columns},
         {"shares", Rows(of.shares, 0, of.rows.size(), of.columns.size())}});
  }
  if (prediction.patched.has_value()) {
    Json sites = Json::array();
    for (const PatchedSite& of : prediction.patched->sites) {
      sites.push_back(
          {{"site", of.site}, {"labels", of.labels}, {"changes", of.changes}});
    }
    json["patch"] = {{"from", prediction.other_input},
                     {"value", prediction.patched->value},
                     {"other_value", prediction.patched->other_value},
                     {"sites", std::move(sites)}};
  }
  if (!labels.notes.empty()) json["notes"] = labels.notes;
  return json;
}

absl::Status WriteInspectionArrays(const InspectedPrediction& prediction,
                                   const std::string& path) {
  const Inspection<float>& inspection = prediction.inspection;
  const auto size = [](const auto& of) {
    return static_cast<int64_t>(of.size());
  };
  Arrays arrays;
  if (!inspection.outputs.empty()) {
    arrays.Add("outputs", {size(inspection.outputs)}, inspection.outputs);
  }
  for (const AttentionMap<float>& map : inspection.maps) {
    const std::vector<int64_t> shape = {map.shape[1], map.shape[2],
                                        map.shape[3]};
    arrays.Add(map.site, shape, map.weights);
    if (map.gradients.empty()) continue;
    arrays.Add(absl::StrCat("gradient/", map.site), shape, map.gradients);
  }
  for (const LayerHeadImportances& of : inspection.heads) {
    arrays.Add(absl::StrCat("importance/", of.site), {size(of.heads)},
               of.heads);
  }
  for (const InputGradientNorms& of : inspection.inputs) {
    arrays.Add(absl::StrCat("gradient_norm/", of.site), {size(of.norms)},
               of.norms);
  }
  for (const Rollout& of : inspection.rollouts) {
    arrays.Add(absl::StrCat("rollout/", of.stack),
               {size(of.rows), size(of.columns)}, of.shares);
  }
  if (prediction.patched.has_value()) {
    for (const PatchedSite& of : prediction.patched->sites) {
      arrays.Add(absl::StrCat("patch/", of.site), {size(of.changes)},
                 of.changes);
    }
  }
  return arrays.Write(path);
}

}  // namespace regard
