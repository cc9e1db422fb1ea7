// Presents runs in TensorBoard, report.html and attention.json, and as text on
// a terminal. Most programs use this presenter.
#ifndef EXPERIMENTS_TRAINING_RUN_PAGES_H_
#define EXPERIMENTS_TRAINING_RUN_PAGES_H_

#include "experiments/training/run_presenter.h"

namespace regard {

const RunPresenter& RunPages();

}  // namespace regard

#endif  // EXPERIMENTS_TRAINING_RUN_PAGES_H_
