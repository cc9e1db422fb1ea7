// Random valid experiments, small enough to be trained in a moment: of every
// task, data source, model, score, optimizer and schedule of this repository.
#ifndef EXPERIMENTS_TESTING_RANDOM_CONFIG_H_
#define EXPERIMENTS_TESTING_RANDOM_CONFIG_H_

#include <cstdint>
#include <random>
#include <set>
#include <string>

#include "absl/strings/string_view.h"
#include "experiments/experiment.pb.h"
#include "experiments/tasks/plugins.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

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
  int64_t Below(int64_t bound);
  void DrawField(google::protobuf::Message* message,
                 const google::protobuf::FieldDescriptor* field);
  void Fill(google::protobuf::Message* message);
  void DrawDataAndModel(Experiment* config);
  void NameFiles(Experiment* config) const;
  bool Mend(Experiment* config, absl::string_view path);
  bool Repair(Experiment* config);

  std::string folder_;
  Plugins plugins_;
  std::mt19937_64 random_;
  int rejections_ = 0;
};

// What configs choose from: "regard.Attention.dot" of a oneof,
// "regard.FeedForwardConfig.activation=RELU" of an enum. Plug-ins from outside
// and values that only say "not specified" are no choices.
std::set<std::string> AllChoices(const google::protobuf::Descriptor& type);

// Those that `message` makes.
void AddChoices(const google::protobuf::Message& message,
                std::set<std::string>* choices);

}  // namespace regard::testing

#endif  // EXPERIMENTS_TESTING_RANDOM_CONFIG_H_
