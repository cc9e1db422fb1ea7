#include "experiments/data/phrasebook_lexicon.h"

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "third_party/abseil_backport/check.h"

namespace regard {
namespace {

constexpr Gender kM = Gender::kMasculine;
constexpr Gender kF = Gender::kFeminine;

constexpr Noun kNouns[] = {
    {"man", "men", "homme", "hommes", kM, kPerson | kAdult},
    {"woman", "women", "femme", "femmes", kF, kPerson | kAdult},
    {"boy", "boys", "garçon", "garçons", kM, kPerson},
    {"girl", "girls", "fille", "filles", kF, kPerson},
    {"child", "children", "enfant", "enfants", kM, kPerson},
    {"doctor", "doctors", "médecin", "médecins", kM, kPerson | kAdult},
    {"teacher", "teachers", "professeur", "professeurs", kM, kPerson | kAdult},
    {"neighbor", "neighbors", "voisin", "voisins", kM, kPerson | kAdult},
    {"king", "kings", "roi", "rois", kM, kPerson | kAdult},
    {"queen", "queens", "reine", "reines", kF, kPerson | kAdult},
    {"hero", "heroes", "héros", "héros", kM, kPerson | kAdult},
    {"actress", "actresses", "actrice", "actrices", kF, kPerson | kAdult},
    {"friend", "friends", "ami", "amis", kM, kKin},
    {"brother", "brothers", "frère", "frères", kM, kKin},
    {"sister", "sisters", "sœur", "sœurs", kF, kKin},
    {"cat", "cats", "chat", "chats", kM, kAnimal | kPet},
    {"dog", "dogs", "chien", "chiens", kM, kAnimal | kPet},
    {"horse", "horses", "cheval", "chevaux", kM, kAnimal | kPet},
    {"bird", "birds", "oiseau", "oiseaux", kM, kAnimal},
    {"cow", "cows", "vache", "vaches", kF, kAnimal},
    {"mouse", "mice", "souris", "souris", kF, kAnimal},
    {"hedgehog", "hedgehogs", "hérisson", "hérissons", kM, kAnimal},
    {"bear", "bears", "ours", "ours", kM, kAnimal | kPerilous},
    {"owl", "owls", "hibou", "hiboux", kM, kAnimal},
    {"apple", "apples", "pomme", "pommes", kF, kFood},
    {"orange", "oranges", "orange", "oranges", kF, kFood},
    {"cake", "cakes", "gâteau", "gâteaux", kM, kFood},
    {"egg", "eggs", "œuf", "œufs", kM, kFood},
    {"tomato", "tomatoes", "tomate", "tomates", kF, kFood},
    {"bread", "", "pain", "", kM, kMassFood},
    {"cheese", "", "fromage", "", kM, kMassFood},
    {"meat", "", "viande", "", kF, kMassFood},
    {"soup", "", "soupe", "", kF, kMassFood | kServed},
    {"water", "", "eau", "", kF, kDrink | kServed},
    {"milk", "", "lait", "", kM, kDrink | kServed},
    {"coffee", "", "café", "", kM, kDrink | kServed},
    {"tea", "", "thé", "", kM, kDrink | kServed},
    {"book", "books", "livre", "livres", kM, kText | kWritten},
    {"letter", "letters", "lettre", "lettres", kF, kText | kWritten},
    {"newspaper", "newspapers", "journal", "journaux", kM, kText},
    {"story", "stories", "histoire", "histoires", kF, kText | kWritten},
    {"hat", "hats", "chapeau", "chapeaux", kM, kGarment},
    {"dress", "dresses", "robe", "robes", kF, kGarment},
    {"coat", "coats", "manteau", "manteaux", kM, kGarment},
    {"scarf", "scarves", "écharpe", "écharpes", kF, kGarment},
    {"skirt", "skirts", "jupe", "jupes", kF, kGarment},
    {"key", "keys", "clé", "clés", kF, kThing | kOfMetal},
    {"ring", "rings", "bague", "bagues", kF, kThing | kOfMetal},
    {"box", "boxes", "boîte", "boîtes", kF,
     kThing | kOpens | kHollow | kOfWood},
    {"umbrella", "umbrellas", "parapluie", "parapluies", kM, kThing},
    {"gift", "gifts", "cadeau", "cadeaux", kM, kThing},
    {"flower", "flowers", "fleur", "fleurs", kF, kThing},
    {"lamp", "lamps", "lampe", "lampes", kF, kThing},
    {"table", "tables", "table", "tables", kF, kFurniture | kSurface | kOfWood},
    {"bed", "beds", "lit", "lits", kM, kFurniture | kSurface},
    {"chair", "chairs", "chaise", "chaises", kF,
     kFurniture | kSurface | kOfWood},
    {"wardrobe", "wardrobes", "armoire", "armoires", kF,
     kFurniture | kOpens | kHollow},
    {"window", "windows", "fenêtre", "fenêtres", kF, kFurniture | kOpens},
    {"door", "doors", "porte", "portes", kF, kFurniture | kOpens | kOfWood},
    {"house", "houses", "maison", "maisons", kF,
     kBuilding | kInside | kLandmark | kHome},
    {"school", "schools", "école", "écoles", kF,
     kBuilding | kInside | kLandmark},
    {"church", "churches", "église", "églises", kF,
     kBuilding | kInside | kLandmark},
    {"hospital", "hospitals", "hôpital", "hôpitaux", kM,
     kBuilding | kInside | kLandmark},
    {"hotel", "hotels", "hôtel", "hôtels", kM, kBuilding | kInside | kLandmark},
    {"castle", "castles", "château", "châteaux", kM,
     kBuilding | kInside | kLandmark | kHome},
    {"garden", "gardens", "jardin", "jardins", kM,
     kNature | kInside | kOpenAir | kLandmark | kHome},
    {"forest", "forests", "forêt", "forêts", kF,
     kNature | kInside | kOpenAir | kPerilous},
    {"river", "rivers", "rivière", "rivières", kF,
     kNature | kLandmark | kPerilous},
    {"tree", "trees", "arbre", "arbres", kM, kNature | kLandmark},
    {"car", "cars", "voiture", "voitures", kF, kVehicle},
    {"train", "trains", "train", "trains", kM, kPublic},
    {"boat", "boats", "bateau", "bateaux", kM, kVehicle | kOfWood},
};

constexpr ProperName kProperNames[] = {
    {"mary", "marie", kF}, {"john", "jean", kM},    {"paul", "paul", kM},
    {"anne", "anne", kF},  {"peter", "pierre", kM}, {"helen", "hélène", kF},
    {"lucy", "lucie", kF},
};

constexpr NounKinds kColoured = kGoods | kPet | kPublic;
constexpr NounKinds kSized = kGoods | kAnimal | kBuilding | kPublic;

constexpr Adjective kAdjectives[] = {
    {"small", "smaller", "smallest", "petit", "petite", "petits", "petites", "",
     true, true, kSized, kSized},
    {"big", "bigger", "biggest", "grand", "grande", "grands", "grandes", "",
     true, true, kSized | kNature, kSized | kNature},
    {"tall", "taller", "tallest", "grand", "grande", "grands", "grandes", "",
     true, true, 0, kPeople},
    {"beautiful", "", "", "beau", "belle", "beaux", "belles", "bel", true, true,
     kAnimal | kGarment | kBuilding | kNature | kText,
     kAnimal | kGarment | kBuilding | kNature | kText},
    {"pretty", "", "", "joli", "jolie", "jolis", "jolies", "", true, false,
     kGarment | kThing | kBuilding, kGarment | kThing | kBuilding},
    {"old", "older", "oldest", "vieux", "vieille", "vieux", "vieilles", "vieil",
     true, true, kAdult | kAnimal | kGoods | kBuilding | kText,
     kAdult | kKin | kAnimal | kGoods | kBuilding | kText},
    {"new", "", "", "nouveau", "nouvelle", "nouveaux", "nouvelles", "nouvel",
     true, false, kGoods | kBuilding | kText, 0},
    {"young", "younger", "youngest", "jeune", "jeune", "jeunes", "jeunes", "",
     true, true, kPerson | kAnimal, kPeople | kAnimal},
    {"good", "", "", "bon", "bonne", "bons", "bonnes", "", true, false,
     kFood | kMass | kText, kFood | kMass},
    {"red", "", "", "rouge", "rouge", "rouges", "rouges", "", false, false,
     kGoods, kGoods},
    {"white", "", "", "blanc", "blanche", "blancs", "blanches", "", false,
     false, kColoured, kColoured},
    {"green", "", "", "vert", "verte", "verts", "vertes", "", false, false,
     kGoods, kGoods},
    {"black", "", "", "noir", "noire", "noirs", "noires", "", false, false,
     kColoured, kColoured},
    {"blue", "", "", "bleu", "bleue", "bleus", "bleues", "", false, false,
     kGoods, kGoods},
    {"expensive", "", "", "cher", "chère", "chers", "chères", "", false, true,
     kGoods, kGoods},
    {"famous", "", "", "célèbre", "célèbre", "célèbres", "célèbres", "", false,
     true, kPerson | kBuilding | kText, kPerson | kBuilding | kText},
    {"interesting", "", "", "intéressant", "intéressante", "intéressants",
     "intéressantes", "", false, true, kText, kText},
    {"tired", "", "", "fatigué", "fatiguée", "fatigués", "fatiguées", "", false,
     false, kPerson | kAnimal, kPeople | kAnimal},
    {"happy", "", "", "heureux", "heureuse", "heureux", "heureuses", "", false,
     false, kPerson, kPeople},
    {"sad", "", "", "triste", "triste", "tristes", "tristes", "", false, false,
     kPerson, kPeople},
    {"kind", "", "", "gentil", "gentille", "gentils", "gentilles", "", false,
     false, kPerson, kPeople},
    {"rich", "richer", "richest", "riche", "riche", "riches", "riches", "",
     false, true, kPerson, kPeople},
    {"strong", "stronger", "strongest", "fort", "forte", "forts", "fortes", "",
     false, true, kPerson | kAnimal, kPeople | kAnimal},
    {"proud", "", "", "fier", "fière", "fiers", "fières", "", false, false,
     kPerson, kPeople},
    {"jealous", "", "", "jaloux", "jalouse", "jaloux", "jalouses", "", false,
     false, kPerson, kPeople},
    {"loyal", "", "", "loyal", "loyale", "loyaux", "loyales", "", false, false,
     kPet, kPet | kKin},
    {"empty", "", "", "vide", "vide", "vides", "vides", "", false, false,
     kBuilding | kHollow, kBuilding | kHollow},
    {"dirty", "", "", "sale", "sale", "sales", "sales", "", false, false,
     kGarment | kFurniture | kVehicle, kGarment | kFurniture | kVehicle},
    {"cold", "", "", "froid", "froide", "froids", "froides", "", false, false,
     kServed, kServed},
    {"hot", "", "", "chaud", "chaude", "chauds", "chaudes", "", false, false,
     kServed, kServed},
    {"fresh", "", "", "frais", "fraîche", "frais", "fraîches", "", false, false,
     kFood | kMassFood, kFood | kMassFood},
    {"dangerous", "", "", "dangereux", "dangereuse", "dangereux", "dangereuses",
     "", false, true, kPerilous, kPerilous},
};

constexpr Pronoun kPronouns[] = {
    {"i", "me", "my", "je", "j'", "me", "m'", "me", "m'", "mon", "ma", "mon",
     "mes", Person::kI, kM},
    {"he", "him", "his", "il", "", "le", "l'", "lui", "", "son", "sa", "son",
     "ses", Person::kSheOrHe, kM},
    {"she", "her", "her", "elle", "", "la", "l'", "lui", "", "son", "sa", "son",
     "ses", Person::kSheOrHe, kF},
    {"we", "us", "our", "nous", "", "nous", "", "nous", "", "notre", "notre",
     "", "nos", Person::kWe, kM},
    {"they", "them", "their", "ils", "", "les", "", "leur", "", "leur", "leur",
     "", "leurs", Person::kThey, kM},
};

constexpr Modal kModals[] = {
    {"can", "can", false, {"peux", "peut", "pouvons", "peuvent"}},
    {"must", "must", false, {"dois", "doit", "devons", "doivent"}},
    {"want", "wants", true, {"veux", "veut", "voulons", "veulent"}},
};

constexpr Invariable kNumbers[] = {
    {"two", "deux"}, {"three", "trois"}, {"four", "quatre"}, {"five", "cinq"}};
constexpr Invariable kFrequencies[] = {{"often", "souvent"},
                                       {"always", "toujours"}};
constexpr Material kMaterials[] = {{"gold", "or", kOfMetal},
                                   {"silver", "argent", kOfMetal},
                                   {"wooden", "bois", kOfWood},
                                   {"leather", "cuir", kGarment},
                                   {"cotton", "coton", kGarment}};

constexpr absl::string_view kAspirated[] = {"héros", "hérisson", "hérissons",
                                            "hibou", "hiboux"};
constexpr absl::string_view kVowels[] = {"a", "e", "i", "o", "u", "â", "é",
                                         "è", "ê", "î", "ô", "œ", "h"};

}  // namespace

absl::string_view Adjective::French(Gender gender, bool plural) const {
  if (gender == Gender::kMasculine)
    return plural ? masculine_plural : masculine;
  return plural ? feminine_plural : feminine;
}

absl::Span<const Noun> Nouns() { return kNouns; }
absl::Span<const ProperName> ProperNames() { return kProperNames; }
absl::Span<const Adjective> Adjectives() { return kAdjectives; }
absl::Span<const Pronoun> Pronouns() { return kPronouns; }
absl::Span<const Modal> Modals() { return kModals; }
absl::Span<const Invariable> Numbers() { return kNumbers; }
absl::Span<const Invariable> Frequencies() { return kFrequencies; }
absl::Span<const Material> Materials() { return kMaterials; }

namespace {

// The first of `words` whose `key` is `english`.
template <typename Word>
const Word& Find(absl::Span<const Word> words, absl::string_view Word::*key,
                 absl::string_view english) {
  for (const Word& word : words) {
    if (word.*key == english) return word;
  }
  REGARD_CHECK(false) << "not in the phrasebook: " << english;
  return words.front();
}

}  // namespace

const Noun& FindNoun(absl::string_view english) {
  return Find(Nouns(), &Noun::english, english);
}
const Adjective& FindAdjective(absl::string_view english) {
  return Find(Adjectives(), &Adjective::english, english);
}
const Pronoun& FindPronoun(absl::string_view subject) {
  return Find(Pronouns(), &Pronoun::subject, subject);
}
const ProperName& FindProperName(absl::string_view english) {
  return Find(ProperNames(), &ProperName::english, english);
}

bool BeginsWithVowelSound(absl::string_view french) {
  // In `il n' y a pas` the pronoun sounds as a vowel.
  if (french == "y") return true;
  for (absl::string_view word : kAspirated) {
    if (french == word) return false;
  }
  for (absl::string_view vowel : kVowels) {
    if (absl::StartsWith(french, vowel)) return true;
  }
  return false;
}

}  // namespace regard
