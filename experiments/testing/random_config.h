// Random valid experiments that are small enough to train quickly. They cover
// every task, data source, model, score, optimizer and schedule of this
// repository.
#ifndef EXPERIMENTS_TESTING_RANDOM_CONFIG_H_
#define EXPERIMENTS_TESTING_RANDOM_CONFIG_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "experiments/experiment.pb.h"
#include "experiments/tasks/plugins.h"
#include "experiments/testing/random_fields.h"

namespace regard::testing {

class RandomConfigs {
 public:
  // Writes the corpora and images that configs name into the existing directory
  // `folder`. The byte-pair tokenizer comes from //pretrained:gpt2_testdata.
  explicit RandomConfigs(std::string folder);

  // Returns a valid config that matches its data. Depends only on the seed and
  // the name of the folder. Each member of a oneof and each value of an enum is
  // equally likely. All other fields are present or absent at random. Fields
  // that the validators reject are drawn again or removed. If the config is
  // still invalid, draws a new one.
  Experiment Draw(uint64_t seed);

  // The number of configs that were discarded.
  int rejections() const { return rejections_; }

 private:
  void DrawDataAndModel(Experiment* config);
  void NameFiles(Experiment* config) const;
  bool RedrawOrRemoveField(Experiment* config, absl::string_view path);
  bool FixAllProblems(Experiment* config);

  std::string folder_;
  Plugins plugins_;
  RandomFields random_;
  int rejections_ = 0;
};

}  // namespace regard::testing

#endif  // EXPERIMENTS_TESTING_RANDOM_CONFIG_H_
