// Writes a page with one of everything, to look at: sample_report > page.html
#include <cmath>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "experiments/report/end_of_run.h"
#include "experiments/report/html_report.h"

namespace regard {
namespace {

std::vector<Metric> SampleMetrics() {
  return {{"test/exact_match", 0.9871, "without attention: 0.412"},
          {"test/bleu", 99.12, ""},
          {"test/alignment_error_rate", 0.0312, "of a diagonal: 0.284"},
          {"test/loss", 0.01375, ""},
          {"test/perplexity", 1.0138, ""},
          {"train/loss", 0.00921, ""}};
}

std::vector<TranslationSample> SampleTranslations() {
  return {
      {"they are watching .", "ils regardent .", "ils regardent .", true},
      {"the small cat does not see the old house .",
       "le petit chat ne voit pas la vieille maison .",
       "le petit chat ne voit pas la maison .", false},
      {"<b>markup & \"quotes\"</b> .", "", "<script>alert(1)</script>", false}};
}

LabelledMatrix SampleAlignment() {
  LabelledMatrix map;
  map.title = "the black cat does not sleep . → le chat noir ne dort pas .";
  map.columns = {"the", "black", "cat", "does", "not", "sleep", ".", "<eos>"};
  map.rows = {"le", "chat", "noir", "ne", "dort", "pas", ".", "<eos>"};
  map.gold = {{0, 0}, {1, 2}, {2, 1}, {3, 4}, {4, 5}, {5, 4}, {6, 6}};
  std::vector<double> head(map.rows.size() * map.columns.size(), 0.01);
  for (const Cell& cell : map.gold) {
    head[cell.row * map.columns.size() + cell.column] = 0.93;
  }
  head[3 * map.columns.size() + 4] = 0.55;
  head[3 * map.columns.size() + 3] = 0.39;
  head[7 * map.columns.size() + 6] = 0.35;
  head[7 * map.columns.size() + 7] = 0.59;
  map.heads = {head};
  return map;
}

LabelledMatrix SampleGradient() {
  LabelledMatrix map = SampleAlignment();
  map.title = "Gradient of the word's log-probability by the weights";
  map.gold.clear();
  for (size_t i = 0; i < map.heads[0].size(); ++i) {
    map.heads[0][i] *= 3 * std::sin(static_cast<double>(i));
  }
  return map;
}

Explanation SampleExplanation() {
  Explanation explanation;
  explanation.title = SampleAlignment().title;
  explanation.summary = "Mean entropy of a step 0.3 nats.";
  explanation.maps = {SampleAlignment(), SampleGradient()};
  explanation.steps = {{"word", "entropy"}, {{"le", "0.2"}, {"chat", "0.4"}}};
  return explanation;
}

// Gaussian weights around a diagonal that differs from head to head.
LabelledMatrix SampleBand(int size, int heads) {
  LabelledMatrix map;
  map.title = absl::StrCat("Kernel weights, ", size, " queries and keys");
  for (int i = 0; i < size; ++i) {
    map.rows.push_back(absl::StrCat("q", i));
    map.columns.push_back(absl::StrCat("k", i));
  }
  for (int h = 0; h < heads; ++h) {
    std::vector<double> head;
    const double width = 0.02 * size * (h + 1);
    for (int q = 0; q < size; ++q) {
      std::vector<double> row;
      double sum = 0;
      for (int k = 0; k < size; ++k) {
        row.push_back(std::exp(-0.5 * std::pow((q - k) / width, 2)));
        sum += row.back();
      }
      for (const double weight : row) head.push_back(weight / sum);
    }
    map.heads.push_back(head);
  }
  return map;
}

Plot SampleCurves() {
  Plot plot{.title = "Loss",
            .x_label = "step",
            .y_label = "nats per token",
            .series = {{.name = "train/loss"}, {.name = "dev/loss"}},
            .logarithmic_y = true};
  for (int step = 1; step <= 3000; ++step) {
    const double loss = 4 * std::exp(-step / 450.0) + 0.01;
    plot.series[0].xs.push_back(step);
    plot.series[0].ys.push_back(loss * (1 + 0.3 * std::sin(step * 1.7)));
    if (step % 250 == 0) {
      plot.series[1].xs.push_back(step);
      plot.series[1].ys.push_back(loss * 1.2);
    }
  }
  plot.series[1].style = SeriesStyle::kDashedLine;
  return plot;
}

Plot SampleRegression() {
  Plot plot{
      .title = "Nadaraya-Watson regression",
      .x_label = "x",
      .y_label = "y",
      .series = {{.name = "fitted"}, {.name = "truth"}, {.name = "data"}}};
  plot.series[1].style = SeriesStyle::kDashedLine;
  plot.series[2].style = SeriesStyle::kPoints;
  for (int i = 0; i < 50; ++i) {
    const double x = i * 0.1;
    const double truth = 2 * std::sin(x) + std::pow(x, 0.8);
    for (int s = 0; s < 3; ++s) plot.series[s].xs.push_back(x);
    plot.series[0].ys.push_back(0.8 * truth + 0.4);
    plot.series[1].ys.push_back(truth);
    plot.series[2].ys.push_back(truth + 0.5 * std::sin(i * 12.9898));
  }
  return plot;
}

std::string SampleReport() {
  HtmlReport report("Phrasebook, English to French",
                    "Additive attention, one GRU layer of 64, 60 epochs, "
                    "seed 1; 48,210 parameters.");
  report.AddMetrics(SampleMetrics());
  report.AddText("What this run shows",
                 {"Held-out sentences are translated word for word in 98.7 % "
                  "of the cases; pairs of words never seen together in 94 %."});
  report.AddPlots("Curves", {SampleCurves(), SampleRegression()});
  report.AddSamples("Translations", SampleTranslations());
  report.AddExplanations("Attention", {SampleExplanation()});
  report.AddHeatMaps("Kernels", {SampleBand(50, 8)});
  report.AddTable("Splits", {{"split", "sentences", "exact match", "BLEU"},
                             {{"unseen sentences", "512", "0.987", "99.1"},
                              {"never together", "256", "0.941", "97.2"}}});
  report.AddConfig("Config", "seed: 1\nmodel {\n  encoder { width: 64 }\n}\n");
  return report.Build();
}

}  // namespace
}  // namespace regard

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "--text") {
    std::cout << regard::EndOfRunText(
        {.metrics = regard::SampleMetrics(),
         .samples = regard::SampleTranslations(),
         .alignment = regard::SampleAlignment(),
         .run_path = "runs/phrasebook",
         .report_path = "runs/phrasebook/report.html"},
        {.width = 80, .unicode = argc == 2});
    return 0;
  }
  std::cout << regard::SampleReport();
}
