#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "experiments/resource_plan.h"

namespace regard {

namespace {

// 20518405 as "20,518,405".
std::string Grouped(int64_t number) {
  std::string digits = absl::StrCat(number);
  for (auto i = static_cast<int64_t>(digits.size()) - 3; i > 0; i -= 3) {
    digits.insert(static_cast<size_t>(i), 1, ',');
  }
  return digits;
}

std::string Bytes(int64_t bytes) {
  constexpr double kMiB = 1024 * 1024;
  const double mebibytes = static_cast<double>(bytes) / kMiB;
  return mebibytes < 1024 ? absl::StrFormat("%.1f MiB", mebibytes)
                          : absl::StrFormat("%.1f GiB", mebibytes / 1024);
}

std::string Flops(double flops) {
  for (const auto& [unit, size] :
       {std::pair<const char*, double>{"P", 1e15}, {"T", 1e12}, {"G", 1e9}}) {
    if (flops >= size)
      return absl::StrFormat("%.2f %sFLOP", flops / size, unit);
  }
  return absl::StrFormat("%.2f MFLOP", flops / 1e6);
}

// The layer of "encoder.rnn.0.weight": what stands before the last dot.
std::string LayerOf(const std::string& name) {
  const size_t dot = name.rfind('.');
  return dot == std::string::npos ? "" : name.substr(0, dot);
}

void AppendParameters(const ResourcePlan& plan, std::string* text) {
  absl::StrAppendFormat(text, "%-40s %-18s %14s\n", "layer", "shape",
                        "parameters");
  for (size_t i = 0; i < plan.parameters.size();) {
    const std::string layer = LayerOf(plan.parameters[i].name);
    size_t end = i;
    int64_t elements = 0;
    while (end < plan.parameters.size() &&
           LayerOf(plan.parameters[end].name) == layer) {
      elements += plan.parameters[end++].shape.size();
    }
    absl::StrAppendFormat(text, "%-59s %14s\n", layer, Grouped(elements));
    for (; i < end; ++i) {
      const PlannedParameter& parameter = plan.parameters[i];
      const std::string name = layer.empty()
                                   ? parameter.name
                                   : parameter.name.substr(layer.size() + 1);
      absl::StrAppendFormat(text, "  %-38s %s\n", name,
                            parameter.shape.ToString());
    }
  }
  absl::StrAppendFormat(text, "%-59s %14s\n", "all", Grouped(plan.elements));
}

}  // namespace

std::string ResourcePlanText(const ResourcePlan& plan,
                             const Experiment& config) {
  std::string text = absl::StrCat(config.name(), "\n\n");
  AppendParameters(plan, &text);
  absl::StrAppend(&text, "\nmemory in training\n");
  const auto memory = [&](absl::string_view what, int64_t bytes,
                          absl::string_view note) {
    absl::StrAppendFormat(&text, "  %-14s %12s%s\n", what, Bytes(bytes), note);
  };
  memory("values", plan.value_bytes, "");
  memory("gradients", plan.gradient_bytes,
         absl::StrCat("  ", plan.gradient_slabs, " times, for num_shards: ",
                      config.num_shards(), " on ", plan.threads,
                      plan.threads == 1 ? " thread" : " threads"));
  memory("moments", plan.optimizer_bytes, "  of the optimizer");
  const std::string measured =
      plan.measured_examples == config.training().batch_size()
          ? ""
          : absl::StrCat(", from ", plan.measured_examples, " examples");
  if (plan.activation_bytes.has_value()) {
    memory("activations", *plan.activation_bytes,
           absl::StrCat("  about, at batch_size: ",
                        config.training().batch_size(), measured));
    memory("all",
           plan.value_bytes + plan.gradient_bytes + plan.optimizer_bytes +
               *plan.activation_bytes,
           "");
  } else {
    absl::StrAppend(&text,
                    "  activations: the model is too large to measure\n");
  }
  absl::StrAppend(&text, "\nwork\n");
  if (plan.update_flops.has_value()) {
    absl::StrAppendFormat(&text, "  %-14s %12s  about, in matrix products%s\n",
                          "an update", Flops(*plan.update_flops), measured);
  }
  if (plan.updates.has_value()) {
    absl::StrAppendFormat(&text, "  %-14s %12s  in %d epochs\n", "updates",
                          Grouped(*plan.updates), config.training().epochs());
    if (plan.update_flops.has_value()) {
      absl::StrAppendFormat(
          &text, "  %-14s %12s\n", "all",
          Flops(*plan.update_flops * static_cast<double>(*plan.updates)));
    }
  }
  return text;
}

}  // namespace regard
