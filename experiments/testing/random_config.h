// Random valid experiments, small enough to be trained in a moment: of every
// task, data source, model, score, optimizer and schedule of this repository.
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
  // Writes the files that configs name, corpora and images, into `folder`,
  // which exists; a tokeniser of byte pairs is one of
  // //pretrained:gpt2_testdata.
  explicit RandomConfigs(std::string folder);

  // A function of the seed and the folder's name: valid, and fits its data.
  // Fields are drawn as the descriptors say: each member of a oneof and value
  // of an enum alike, other fields present or not. What the validators refuse
  // is drawn again or left out; what then still is not valid is drawn anew.
  Experiment Draw(uint64_t seed);

  // How often a config was drawn anew.
  int rejections() const { return rejections_; }

 private:
  void DrawDataAndModel(Experiment* config);
  void NameFiles(Experiment* config) const;
  bool Mend(Experiment* config, absl::string_view path);
  bool Repair(Experiment* config);

  std::string folder_;
  Plugins plugins_;
  RandomFields random_;
  int rejections_ = 0;
};

}  // namespace regard::testing

#endif  // EXPERIMENTS_TESTING_RANDOM_CONFIG_H_
