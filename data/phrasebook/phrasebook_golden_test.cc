// Compares French translations and alignments with hand-checked examples of
// every construction.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "data/phrasebook/phrasebook.h"
#include "data/phrasebook/phrasebook_language.h"
#include "data/sentence_pair.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

struct GoldenPair {
  absl::string_view construction;
  absl::string_view english;
  absl::string_view french;
  absl::string_view links;  // French-English, 0-based word positions
};

// All these pairs are in the default phrasebook.
constexpr GoldenPair kGoldenPairs[] = {
    {"beneficiary", "he is buying the gift for paul .",
     "il achète le cadeau pour paul .", "0-0 0-1 1-2 2-3 3-4 4-5 5-6 6-7"},
    {"beneficiary", "paul is choosing the green hats for lucy .",
     "paul choisit les chapeaux verts pour lucie .",
     "0-0 0-1 1-2 2-3 3-5 4-4 5-6 6-7 7-8"},
    {"company", "he is laughing with peter .", "il rit avec pierre .",
     "0-0 0-1 1-2 2-3 3-4 4-5"},
    {"comparative", "my friend is taller than helen .",
     "mon ami est plus grand qu' hélène .", "0-0 1-1 2-2 3-3 4-3 5-4 6-5 7-6"},
    {"comparative", "this hospital is more famous than these schools .",
     "cet hôpital est plus célèbre que ces écoles .",
     "0-0 1-1 2-2 3-3 4-4 5-5 6-6 7-7 8-8"},
    {"existence", "there are horses in the forest .",
     "il y a des chevaux dans la forêt .",
     "0-0 1-0 2-1 3-2 4-2 5-3 6-4 7-5 8-6"},
    {"existence", "there are no owls near this hospital .",
     "il n' y a pas de hiboux près de cet hôpital .",
     "0-0 1-2 2-0 3-1 4-2 5-2 6-3 7-4 8-4 9-5 10-6 11-7"},
    {"frequency", "he always runs .", "il court toujours .", "0-0 1-2 2-1 3-3"},
    {"frequency", "mary often eats good fresh cheese .",
     "marie mange souvent du bon fromage frais .",
     "0-0 1-2 2-1 3-5 4-3 5-5 6-4 7-6"},
    {"future", "helen is going to sleep .", "hélène va dormir .",
     "0-0 1-1 1-2 2-3 2-4 3-5"},
    {"intransitive", "they are watching .", "ils regardent .",
     "0-0 0-1 1-2 2-3"},
    {"intransitive", "he is dancing .", "il danse .", "0-0 0-1 1-2 2-3"},
    {"joined_subject", "john and lucy know me .",
     "jean et lucie me connaissent .", "0-0 1-1 2-2 3-4 4-3 5-5"},
    {"joined_subject", "lucy and paul are waiting .",
     "lucie et paul attendent .", "0-0 1-1 2-2 2-3 3-4 4-5"},
    {"material", "his sister has gold keys .", "sa sœur a des clés en or .",
     "0-0 1-1 2-2 3-4 4-4 5-3 6-3 7-5"},
    {"material", "we are choosing many silver rings .",
     "nous choisissons beaucoup de bagues en argent .",
     "0-0 0-1 1-2 2-3 3-3 4-5 5-4 6-4 7-6"},
    {"modal", "he must work .", "il doit travailler .", "0-0 1-1 2-2 3-3"},
    {"modal", "mary does not want to help him .",
     "marie ne veut pas l' aider .", "0-0 1-1 1-2 2-3 3-2 4-6 5-4 5-5 6-7"},
    {"modal", "we can not find a cow .",
     "nous ne pouvons pas trouver de vache .",
     "0-0 1-2 2-1 3-2 4-3 5-4 6-5 7-6"},
    {"negated_past", "he did not laugh .", "il n' a pas ri .",
     "0-0 1-2 2-1 3-2 4-3 5-4"},
    {"negated_past", "this king did not draw them .",
     "ce roi ne les a pas dessinés .", "0-0 1-1 2-3 3-5 4-2 5-3 6-4 7-6"},
    {"negated_pronoun", "anne does not hear her .", "anne ne l' entend pas .",
     "0-0 1-1 1-2 2-4 3-3 4-2 5-5"},
    {"negated_pronoun", "these rich kings are not watching me .",
     "ces rois riches ne me regardent pas .",
     "0-0 1-2 1-3 2-1 3-4 4-6 5-5 6-4 7-7"},
    {"negation", "i do not have a boat .", "je n' ai pas de bateau .",
     "0-0 1-1 1-2 2-3 3-2 4-4 5-5 6-6"},
    {"negation", "the man is not writing the story .",
     "l' homme n' écrit pas l' histoire .",
     "0-0 1-1 1-2 2-3 3-4 4-3 5-5 6-6 7-7"},
    {"never", "mary never waits .", "marie n' attend jamais .",
     "0-0 1-1 2-2 3-1 4-3"},
    {"never", "this king never follows happy actresses .",
     "ce roi ne suit jamais d' actrices heureuses .",
     "0-0 1-1 2-2 3-3 4-2 5-5 6-5 7-4 8-6"},
    {"object_pronoun", "anne hears him .", "anne l' entend .",
     "0-0 1-2 2-1 3-3"},
    {"object_pronoun", "the famous actress is watching him .",
     "l' actrice célèbre le regarde .", "0-0 1-2 1-3 2-1 3-5 4-4 5-6"},
    {"object_relative", "the bird that she is following is small .",
     "l' oiseau qu' elle suit est petit .",
     "0-0 1-1 2-2 3-3 3-4 4-5 5-6 6-7 7-8"},
    {"object_relative", "the milk that they are drinking is cold .",
     "le lait qu' ils boivent est froid .",
     "0-0 1-1 2-2 3-3 3-4 4-5 5-6 6-7 7-8"},
    {"part_of_whole", "i opened the blue door of the church .",
     "j' ai ouvert la porte bleue de l' église .",
     "0-0 1-1 2-1 3-2 4-4 5-3 6-5 7-6 8-7 9-8"},
    {"part_of_whole", "the window of the castle is not black .",
     "la fenêtre du château n' est pas noire .",
     "0-0 1-1 2-2 2-3 3-4 4-6 5-5 6-6 7-7 8-8"},
    {"past", "he slept .", "il a dormi .", "0-0 1-1 2-1 3-2"},
    {"past", "the famous women lost these green flowers .",
     "les femmes célèbres ont perdu ces fleurs vertes .",
     "0-0 1-2 2-1 3-3 4-3 5-4 6-6 7-5 8-7"},
    {"past_pronoun", "anne helped her .", "anne l' a aidée .",
     "0-0 1-2 2-1 3-1 4-3"},
    {"past_pronoun", "these old famous kings saw us .",
     "ces vieux rois célèbres nous ont vus .",
     "0-0 1-1 2-3 3-2 4-5 5-4 6-4 7-6"},
    {"place", "the women are laughing behind the school .",
     "les femmes rient derrière l' école .", "0-0 1-1 1-2 2-3 3-4 4-5 5-6 6-7"},
    {"place", "paul is dancing in front of the school .",
     "paul danse devant l' école .", "0-0 0-1 1-2 2-3 2-4 2-5 3-6 4-7 5-8"},
    {"place", "paul is waiting near the garden .",
     "paul attend près du jardin .", "0-0 0-1 1-2 2-3 3-3 3-4 4-5 5-6"},
    {"possessive", "lucy 's story is famous .",
     "l' histoire de lucie est célèbre .", "0-1 1-2 2-1 3-0 4-3 5-4 6-5"},
    {"possessive", "the king 's tea is cold .", "le thé du roi est froid .",
     "0-2 1-3 2-0 2-2 3-1 4-4 5-5 6-6"},
    {"possessive", "we see the hero 's sister .",
     "nous voyons la sœur du héros .", "0-0 1-1 2-4 3-5 4-2 4-4 5-3 6-6"},
    {"predicate", "he is jealous .", "il est jaloux .", "0-0 1-1 2-2 3-3"},
    {"predicate", "these teachers are not very rich .",
     "ces professeurs ne sont pas très riches .",
     "0-0 1-1 2-3 3-2 4-3 5-4 6-5 7-6"},
    {"predicate_question", "are they old ?", "est-ce qu' ils sont vieux ?",
     "0-0 1-0 2-1 3-0 4-2 5-3"},
    {"predicate_question", "is paul strong ?", "est-ce que paul est fort ?",
     "0-0 1-0 2-1 3-0 4-2 5-3"},
    {"recipient", "i showed bears to him .", "je lui ai montré des ours .",
     "0-0 1-3 1-4 2-1 3-1 4-2 5-2 6-5"},
    {"recipient", "he sold old doors to her .",
     "il lui a vendu de vieilles portes .",
     "0-0 1-4 1-5 2-1 3-1 4-3 5-2 6-3 7-6"},
    {"subject_relative", "her brother who is waiting is rich .",
     "son frère qui attend est riche .", "0-0 1-1 2-2 2-3 3-4 4-5 5-6 6-7"},
    {"subject_relative", "these boys who are watching are kind .",
     "ces garçons qui regardent sont gentils .",
     "0-0 1-1 2-2 2-3 3-4 4-5 5-6 6-7"},
    {"superlative", "anne finds the oldest bird .",
     "anne trouve le plus vieil oiseau .", "0-0 1-1 2-2 3-3 4-3 5-4 6-5"},
    {"superlative", "helen is following the most expensive cars .",
     "hélène suit les voitures les plus chères .",
     "0-0 0-1 1-2 2-3 3-6 4-4 5-4 6-5 7-7"},
    {"superlative", "a young child knows the richest man .",
     "un jeune enfant connaît l' homme le plus riche .",
     "0-0 1-1 2-2 3-3 4-4 5-6 6-5 7-5 8-5 9-7"},
    {"transitive", "they see horses .", "ils voient des chevaux .",
     "0-0 1-1 2-2 3-2 4-3"},
    {"transitive", "this man is wearing new hats .",
     "cet homme porte de nouveaux chapeaux .",
     "0-0 1-1 1-2 2-3 3-5 4-4 5-5 6-6"},
    {"what_question", "what am i opening ?", "qu' est-ce que j' ouvre ?",
     "0-0 1-1 2-1 3-2 4-3 5-4"},
    {"what_question", "what is a happy king closing ?",
     "qu' est-ce qu' un roi heureux ferme ?",
     "0-0 1-1 2-1 3-2 4-4 5-3 6-5 7-6"},
    {"where_question", "where are her scarves ?", "où sont ses écharpes ?",
     "0-0 1-1 2-2 3-3 4-4"},
    {"where_question", "where is our old famous book ?",
     "où est notre vieux livre célèbre ?", "0-0 1-1 2-2 3-3 4-5 5-4 6-6"},
    {"who_question", "who hears them ?", "qui les entend ?", "0-0 1-2 2-1 3-3"},
    {"who_question", "who has dresses ?", "qui a des robes ?",
     "0-0 1-1 2-2 3-2 4-3"},
    {"why_question", "why are they crying ?",
     "pourquoi est-ce qu' ils pleurent ?", "0-0 1-1 2-1 3-2 4-3 5-4"},
    {"why_question", "why did this jealous woman not draw her ?",
     "pourquoi est-ce que cette femme jalouse ne l' a pas dessinée ?",
     "0-0 1-1 2-1 3-2 4-4 5-3 6-5 7-7 8-1 9-5 10-6 11-8"},
    {"yes_no_question", "is helen dancing ?", "est-ce qu' hélène danse ?",
     "0-0 1-0 2-1 3-2 4-3"},
    {"yes_no_question", "did he sing ?", "est-ce qu' il a chanté ?",
     "0-0 1-0 2-1 3-0 4-2 5-3"},
    {"yes_no_question", "did a kind woman help a beautiful bear ?",
     "est-ce qu' une femme gentille a aidé un bel ours ?",
     "0-0 1-0 2-1 3-3 4-2 5-0 6-4 7-5 8-6 9-7 10-8"},
};

struct Translation {
  std::string construction;
  std::string french;
  std::string links;
};

std::string LinksText(const SentencePair& pair) {
  return absl::StrJoin(pair.alignment, " ",
                       [](std::string* text, const AlignmentLink& link) {
                         absl::StrAppend(text, link.target, "-", link.source);
                       });
}

// Returns the default phrasebook by English sentence.
std::map<std::string, Translation> Translations() {
  const Phrasebook book = MakePhrasebook();
  std::map<std::string, Translation> translations;
  for (const PhrasebookPart* split :
       {&book.train, &book.dev, &book.test_unseen, &book.test_unseen_pairs}) {
    for (size_t i = 0; i < split->pairs.size(); ++i) {
      const SentencePair& pair = split->pairs[i];
      translations[absl::StrJoin(pair.source, " ")] = {
          std::string(split->constructions[i]), absl::StrJoin(pair.target, " "),
          LinksText(pair)};
    }
  }
  return translations;
}

TEST(PhrasebookGoldenTest, GoldenPairsAreOfEveryConstruction) {
  std::set<absl::string_view> golden;
  for (const GoldenPair& pair : kGoldenPairs) golden.insert(pair.construction);
  std::set<absl::string_view> all;
  for (const auto& construction :
       phrasebook::Language::Embedded().grammar().construction()) {
    all.insert(construction.name());
  }
  EXPECT_EQ(golden, all);
}

TEST(PhrasebookGoldenTest, FrenchAndLinksAreTheOnesCheckedByHand) {
  const auto translations = Translations();
  for (const GoldenPair& golden : kGoldenPairs) {
    SCOPED_TRACE(golden.english);
    const auto found = translations.find(std::string(golden.english));
    if (found == translations.end()) {
      ADD_FAILURE() << "is not in the phrasebook";
      continue;
    }
    EXPECT_EQ(found->second.construction, golden.construction);
    EXPECT_EQ(found->second.french, golden.french);
    EXPECT_EQ(found->second.links, golden.links);
  }
}

}  // namespace
}  // namespace regard
