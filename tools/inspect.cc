// Inspects a trained model that uses the scores of this repository.

#include "attention/scorer_registry.h"
#include "attention/scoring/built_in_scores.h"
#include "tools/inspect_program.h"

int main(int argc, char** argv) {
  regard::ScorerRegistry scorers;
  regard::RegisterBuiltInScores(scorers);
  return regard::InspectMain(argc, argv, scorers);
}
