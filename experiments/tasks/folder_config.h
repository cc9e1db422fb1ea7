// Configs of training runs that begin from a Hugging Face model folder
// (training.initial_weights). Fields that the config leaves unset are taken
// from the folder.
#ifndef EXPERIMENTS_TASKS_FOLDER_CONFIG_H_
#define EXPERIMENTS_TASKS_FOLDER_CONFIG_H_

#include "absl/status/status.h"
#include "attention/attention_registry.h"
#include "options/reader.h"

namespace regard {

class Experiment;

// Starts from the data and model config of the folder that `config` names.
// Merges the texts of `origins` into this config. Does nothing if `config`
// names no folder. Errors are about the folder, or about a field that must
// match it. The messages can be printed as they are.
absl::Status MergeOverFolderConfig(const AttentionRegistry& scorers,
                                   Experiment* config, ConfigOrigins* origins);

}  // namespace regard

#endif  // EXPERIMENTS_TASKS_FOLDER_CONFIG_H_
