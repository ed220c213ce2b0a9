// The Agrawal generator: loan applicants and the ten classification functions of Agrawal, Imielinski and Swami (1993).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "streams/java_random.hpp"

namespace heros {

struct Applicant {
  double salary, commission, age;
  std::int32_t elevel, car, zipcode;
  double hvalue, hyears, loan;
};

namespace agrawal {

inline bool within(double value, double low, double high) { return low <= value && value <= high; }

// Whether `value` is in the band of the age group: under 40, under 60, older.
inline bool by_age(double age, double value, const double (&lows)[3], const double (&highs)[3]) {
  const int group = age < 40 ? 0 : age < 60 ? 1 : 2;
  return within(value, lows[group], highs[group]);
}

inline bool schooled(const Applicant& a) {  // whether the education is in the band of the age group
  return a.age < 40 ? a.elevel <= 1 : a.age < 60 ? a.elevel >= 1 && a.elevel <= 3 : a.elevel >= 2;
}

inline bool paid(const Applicant& a, double income) {  // whether the income is in the band of the age group
  return by_age(a.age, income, {50e3, 75e3, 25e3}, {100e3, 125e3, 75e3});
}

inline double two_thirds_of_income(const Applicant& a) { return 2.0 * (a.salary + a.commission) / 3.0; }

// Whether function 1..10 assigns the applicant to group A.
inline bool group_a(int function, const Applicant& a) {
  switch (function) {
    case 1: return a.age < 40 || a.age >= 60;
    case 2: return paid(a, a.salary);
    case 3: return schooled(a);
    case 4:
      return schooled(a) ? by_age(a.age, a.salary, {25e3, 50e3, 50e3}, {75e3, 100e3, 100e3})
                         : by_age(a.age, a.salary, {50e3, 75e3, 25e3}, {100e3, 125e3, 75e3});
    case 5:
      return paid(a, a.salary) ? by_age(a.age, a.loan, {100e3, 200e3, 300e3}, {300e3, 400e3, 500e3})
                               : by_age(a.age, a.loan, {200e3, 300e3, 100e3}, {400e3, 500e3, 300e3});
    case 6: return paid(a, a.salary + a.commission);
    case 7: return two_thirds_of_income(a) - a.loan / 5.0 - 20e3 > 0;
    case 8: return two_thirds_of_income(a) - 5e3 * a.elevel - 20e3 > 0;
    case 9: return two_thirds_of_income(a) - 5e3 * a.elevel - a.loan / 5.0 - 10e3 > 0;
    default: {
      const double equity = a.hyears >= 20 ? a.hvalue * (a.hyears - 20.0) / 10.0 : 0.0;
      return two_thirds_of_income(a) - 5e3 * a.elevel + equity / 5.0 - 10e3 > 0;
    }
  }
}

}  // namespace agrawal

class Agrawal {
 public:
  Agrawal() : Agrawal(1, 1, 0.0, false) {}
  Agrawal(int function, std::int64_t seed, double perturbation, bool balance)
      : function_(function), perturbation_(perturbation), balance_(balance), random_(seed) {}

  int features() const { return 9; }

  // Writes one instance to x and returns its class.
  int draw(double* x) {
    Applicant applicant;
    int group;
    do {
      applicant = applicant_at_random();
      group = agrawal::group_a(function_, applicant) ? 0 : 1;
    } while (balance_ && group != wanted_);
    wanted_ ^= 1;
    if (perturbation_ > 0.0) perturb(applicant);
    const Applicant& a = applicant;
    const double row[] = {a.salary,  a.commission,
                          a.age,     static_cast<double>(a.elevel),
                          static_cast<double>(a.car), static_cast<double>(a.zipcode),
                          a.hvalue,  a.hyears,
                          a.loan};
    std::copy(std::begin(row), std::end(row), x);
    return group;
  }

  template <class Archive>
  void fields(Archive& archive) {
    archive("function", function_);
    archive("perturbation", perturbation_);
    archive("balance", balance_);
    archive("wanted", wanted_);
    random_.fields(archive);
  }
  void check() const {
    require(function_ >= 1 && function_ <= 10, "function");
    require(perturbation_ >= 0 && perturbation_ <= 1, "perturbation");
    require(balance_ <= 1, "balance");
    require(wanted_ == 0 || wanted_ == 1, "wanted");
    random_.check();
  }

 private:
  Applicant applicant_at_random() {
    Applicant a;
    a.salary = 20e3 + 130e3 * random_.next_double();
    a.commission = a.salary >= 75e3 ? 0.0 : 10e3 + 65e3 * random_.next_double();
    a.age = 20 + random_.next_int(61);
    a.elevel = random_.next_int(5);
    a.car = random_.next_int(20);
    a.zipcode = random_.next_int(9);
    a.hvalue = (9.0 - a.zipcode) * 100e3 * (0.5 + random_.next_double());
    a.hyears = 1 + random_.next_int(30);
    a.loan = 500e3 * random_.next_double();
    return a;
  }

  // Adds noise to the features. The class still follows from the original values.
  void perturb(Applicant& a) {
    a.salary = moved(a.salary, 130e3, 20e3, 150e3);
    if (a.commission > 0) a.commission = moved(a.commission, 65e3, 10e3, 75e3);
    a.age = std::floor(moved(a.age, 60, 20, 80) + 0.5);
    a.hvalue = moved(a.hvalue, (9.0 - a.zipcode) * 100e3, 0, 135e3);
    a.hyears = std::floor(moved(a.hyears, 29, 1, 30) + 0.5);
    a.loan = moved(a.loan, 500e3, 0, 500e3);
  }

  double moved(double value, double range, double low, double high) {
    value += range * (2.0 * (random_.next_double() - 0.5)) * perturbation_;
    return std::clamp(value, low, high);
  }

  std::int32_t function_;
  double perturbation_;
  std::uint8_t balance_;
  std::int32_t wanted_ = 1;  // with balance: the class of the next instance
  JavaRandom random_;
};

}  // namespace heros
