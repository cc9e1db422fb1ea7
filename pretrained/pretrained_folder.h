// Folders of Hugging Face's, whatever their architecture: each as the run that
// it would be had it been trained here, and models as such folders. An
// architecture is a line of the table in pretrained_folder.cc. See
// docs/hugging_face.md.
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

struct PretrainedFolder {
  // The text of an Experiment: the model, and data of the kind that it can be
  // evaluated on.
  std::string config;
  // What the folder says of data and models that may begin with it, by their
  // paths ("data.images", "model.text_classifier"): texts of those messages. An
  // error is that of a model that cannot say what the folder does.
  std::map<std::string, absl::StatusOr<std::string>> parts;
  // The path of the model in `config`.
  std::string model;
  // Fields of these that must stay, as the weights belong to what they say, and
  // the file that says it, both by path.
  std::map<std::string, std::string> fixed = {};
  // For the user, complete to print: what is computed otherwise than the folder
  // says.
  std::vector<std::string> notes = {};
  // The texts that a run of it keeps, by name: vocabularies.
  std::map<std::string, std::string> files;
  // Fills the finalized parameters of that model, or of one like it; `kept` is
  // as of PretrainedWeights::Load(). An error is complete to print.
  std::function<absl::Status(ParameterStore<float>& parameters,
                             std::vector<std::string>* kept)>
      load_weights;
  // Names the file that belongs to what the model was trained for, as names of
  // classes do, be it one of `files` or not; empty if none does.
  std::string task_file = {};
  // The same as load_weights, of a model that has another text of that name, or
  // has one where the folder has none.
  std::function<absl::Status(absl::string_view text,
                             ParameterStore<float>& parameters,
                             std::vector<std::string>* kept)>
      load_for_task = nullptr;

  // The text of an Experiment that begins with the folder and has data and a
  // model of these kinds ("images"; empty: none yet), for its config to go
  // over. An error, without the folder's name, says which models may begin with
  // it.
  absl::StatusOr<std::string> Beginning(absl::string_view data,
                                        absl::string_view model) const;
};

// Whether there is a config.json in the folder, and no run.
bool HoldsPretrained(const std::string& folder);

// Errors are complete to print.
absl::StatusOr<PretrainedFolder> ReadPretrainedFolder(
    const std::string& folder, const AttentionRegistry& scorers);

// Writes a model, trained here or read from a folder, as a folder that
// transformers opens: a new one, or an empty one. An InvalidArgument, complete
// to print, names what transformers does not have; then nothing is written.
absl::Status WritePretrainedFolder(const Model<float>& model,
                                   const std::string& folder,
                                   FileOperations& files);

}  // namespace regard

#endif  // PRETRAINED_PRETRAINED_FOLDER_H_
