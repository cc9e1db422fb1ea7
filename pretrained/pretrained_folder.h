// Reads Hugging Face model folders of all supported architectures as runs, and
// writes models as such folders. Each architecture has a row in the table of
// pretrained_folder.cc. See docs/hugging_face.md.
#ifndef PRETRAINED_PRETRAINED_FOLDER_H_
#define PRETRAINED_PRETRAINED_FOLDER_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "attention/attention_registry.h"
#include "files/file.h"
#include "nn/parameters.h"
#include "optimization/model.h"

namespace regard {

struct PretrainedRun {
  // The text of an Experiment with the model, and with data of a kind on which
  // the model can be evaluated.
  std::string config;
  // The settings of the folder for each kind of data and of model that can
  // start from it. The keys are paths, such as "data.images" or
  // "model.text_classifier". A value is the text of a message, or an error if
  // the model cannot express the settings.
  std::map<std::string, absl::StatusOr<std::string>> parts;
  // The path of the model in `config`.
  std::string model;
  // The fields that must not change, because the weights depend on them. Maps
  // the path of a field to the path of the file that sets it.
  std::map<std::string, std::string> fixed = {};
  // Messages for the user about settings that Regard computes differently.
  std::vector<std::string> notes = {};
  // The texts that a run of the folder keeps, by file name, such as
  // vocabularies.
  std::map<std::string, std::string> files;
  // Fills the finalized parameters of the model, or of another model that
  // starts from the folder. See PretrainedWeights::Load() for `kept`. Error
  // messages are meant for users.
  std::function<absl::Status(ParameterStore<float>& parameters,
                             std::vector<std::string>* kept)>
      load_weights;
  // The name of the file that describes the model's task, such as its class
  // names. It may be missing from `files`. Empty if models of this kind have no
  // task file.
  std::string task_file = {};
  // Like load_weights, for a model with another task file, whose contents are
  // `text`. The folder may have no task file.
  std::function<absl::Status(absl::string_view text,
                             ParameterStore<float>& parameters,
                             std::vector<std::string>* kept)>
      load_for_task = nullptr;

  // Returns the text of an Experiment that starts from the folder. Callers
  // merge a config into it. `data` and `model` are the kinds of data and model,
  // for example "images". An empty `data` means no data, and an empty `model`
  // means the folder's own model. An error does not name the folder, but lists
  // the models that can start from it.
  absl::StatusOr<std::string> BaseConfig(absl::string_view data,
                                         absl::string_view model) const;
};

// Returns whether the folder contains config.json but is not a run.
bool ContainsPretrainedModel(const std::string& folder);

// Reads a folder as a run. Error messages are meant for users.
absl::StatusOr<PretrainedRun> ReadPretrainedRun(
    const std::string& folder, const AttentionRegistry& scorers);

// Writes a model as a folder that transformers can open. The folder must be new
// or empty. Returns InvalidArgument, with a message for the user, and writes
// nothing if transformers lacks features of the model.
absl::Status WritePretrainedFolder(const Model<float>& model,
                                   const std::string& folder,
                                   FileOperations& files);

}  // namespace regard

#endif  // PRETRAINED_PRETRAINED_FOLDER_H_
