// Random values of config fields, drawn from the descriptors of the messages.
#ifndef EXPERIMENTS_TESTING_RANDOM_FIELDS_H_
#define EXPERIMENTS_TESTING_RANDOM_FIELDS_H_

#include <cstdint>
#include <random>
#include <set>
#include <string>

#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

namespace regard::testing {

class RandomFields {
 public:
  // A field that names a file gets a path in `folder`, which must end in a
  // slash.
  explicit RandomFields(std::string folder);

  // Seeds the random numbers.
  void Seed(uint64_t seed) { random_.seed(seed); }

  // Makes each optional field present with probability 1 / rarity. By default,
  // two thirds are present.
  void set_rarity(int rarity) { rarity_ = rarity; }

  // Returns a random number in [0, bound).
  int64_t UniformInt(int64_t bound);

  // Returns a random value of a number or string field.
  std::string DrawText(const google::protobuf::FieldDescriptor& field);

  // Sets a field that is not repeated to a random value.
  void DrawField(google::protobuf::Message* message,
                 const google::protobuf::FieldDescriptor* field);

  // Sets the fields of a message to random values. Each member of a oneof is
  // equally likely. All other fields are present or absent at random.
  void Fill(google::protobuf::Message* message);

 private:
  bool IsPresent() {
    return rarity_ == 0 ? UniformInt(3) > 0 : UniformInt(rarity_) == 0;
  }
  // Returns a random number of elements for a repeated field.
  int64_t DrawCount() {
    if (rarity_ == 0) return UniformInt(3);
    return IsPresent() ? 1 + UniformInt(2) : 0;
  }

  std::string folder_;
  int rarity_ = 0;
  std::mt19937_64 random_;
};

// Whether every message must set the field, because its default is too large.
bool IsAlwaysGiven(const google::protobuf::FieldDescriptor& field);

// Whether RandomFields may set the field.
bool IsDrawn(const google::protobuf::FieldDescriptor& field);

// Returns the choices that configs can make: "regard.Attention.dot" for a
// oneof, and "regard.FeedForwardConfig.activation=RELU" for an enum. Omits
// plug-ins from other repositories, and enum values that mean "not specified".
std::set<std::string> AllChoices(const google::protobuf::Descriptor& type);

// Adds the choices that `message` makes, in the form of AllChoices().
void AddChoices(const google::protobuf::Message& message,
                std::set<std::string>* choices);

}  // namespace regard::testing

#endif  // EXPERIMENTS_TESTING_RANDOM_FIELDS_H_
