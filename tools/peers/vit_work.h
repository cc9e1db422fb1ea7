// The workload of classifying images with a Vision Transformer.
#ifndef TOOLS_PEERS_VIT_WORK_H_
#define TOOLS_PEERS_VIT_WORK_H_

#include <memory>

#include "optimization/model.h"
#include "tools/peers/timed_work.h"
#include "tools/peers/work_options.h"

namespace regard {

// Makes a model to train. Its training examples are the images of ImageData().
std::unique_ptr<Model<float>> MakeImageModel(const WorkOptions& options);

// Makes a workload. A step computes the log probabilities of the classes for
// the images of ImageData(). NumbersToCompare() returns the log probabilities
// of the last image.
std::unique_ptr<TimedWork> MakeClassificationWork(const WorkOptions& options);

}  // namespace regard

#endif  // TOOLS_PEERS_VIT_WORK_H_
