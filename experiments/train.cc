// Trains an experiment with the scores of this repository.

#include "attention/scorer_registry.h"
#include "attention/scoring/built_in_scores.h"
#include "experiments/default_config.h"
#include "experiments/train_program.h"

int main(int argc, char** argv) {
  regard::ScorerRegistry scorers;
  regard::RegisterBuiltInScores(scorers);
  return regard::TrainMain(argc, argv, scorers, regard::DefaultConfig());
}
