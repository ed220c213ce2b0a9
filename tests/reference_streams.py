"""Slow, simple versions of the synthetic streams, for comparison with the compiled ones."""

import math


class JavaRandom:
    """java.util.Random, as its documentation defines it."""

    def __init__(self, seed):
        self.state = (seed ^ 0x5DEECE66D) % 2**48
        self.spare = None

    def next(self, bits):
        self.state = (self.state * 0x5DEECE66D + 11) % 2**48
        return self.state >> (48 - bits)

    def double(self):
        return (self.next(26) * 2**27 + self.next(27)) / 2**53

    def integer(self, n):
        if n & (n - 1) == 0:
            return n * self.next(31) >> 31
        while True:
            u = self.next(31)
            v = u % n
            if u - v + (n - 1) < 2**31:
                return v

    def gaussian(self):
        if self.spare is not None:
            value, self.spare = self.spare, None
            return value
        while True:
            a, b = 2 * self.double() - 1, 2 * self.double() - 1
            q = a * a + b * b
            if 0 < q < 1:
                break
        factor = math.sqrt(-2 * math.log(q) / q)
        self.spare = b * factor
        return a * factor


def agrawal(function, seed=1, perturbation=0.05, balance=False):
    """Yield rows (features, class) endlessly."""
    random = JavaRandom(seed)
    wanted = 1
    while True:
        row = agrawal_applicant(random)
        label = 0 if AGRAWAL[function](*row) else 1
        if balance and label != wanted:
            continue
        wanted = 1 - wanted
        if perturbation > 0:
            row = agrawal_perturbed(random, row, perturbation)
        yield row, label


def agrawal_applicant(random):
    salary = 20_000 + 130_000 * random.double()
    commission = 0 if salary >= 75_000 else 10_000 + 65_000 * random.double()
    age = 20 + random.integer(61)
    elevel, car, zipcode = random.integer(5), random.integer(20), random.integer(9)
    hvalue = (9 - zipcode) * 100_000 * (0.5 + random.double())
    hyears = 1 + random.integer(30)
    loan = 500_000 * random.double()
    return salary, commission, age, elevel, car, zipcode, hvalue, hyears, loan


def agrawal_perturbed(random, row, p):
    salary, commission, age, elevel, car, zipcode, hvalue, hyears, loan = row

    def moved(value, width, low, high):
        return min(max(value + width * (2 * (random.double() - 0.5)) * p, low), high)

    salary = moved(salary, 130_000, 20_000, 150_000)
    if commission > 0:
        commission = moved(commission, 65_000, 10_000, 75_000)
    age = math.floor(moved(age, 60, 20, 80) + 0.5)
    hvalue = moved(hvalue, (9 - zipcode) * 100_000, 0, 135_000)
    hyears = math.floor(moved(hyears, 29, 1, 30) + 0.5)
    loan = moved(loan, 500_000, 0, 500_000)
    return salary, commission, age, elevel, car, zipcode, hvalue, hyears, loan


def age_group(age):
    return 0 if age < 40 else 1 if age < 60 else 2


def function_1(salary, commission, age, elevel, car, zipcode, hvalue, hyears, loan):
    return age < 40 or age >= 60


def function_2(salary, commission, age, elevel, car, zipcode, hvalue, hyears, loan):
    low, high = [(50e3, 100e3), (75e3, 125e3), (25e3, 75e3)][age_group(age)]
    return low <= salary <= high


def function_3(salary, commission, age, elevel, car, zipcode, hvalue, hyears, loan):
    return elevel in [{0, 1}, {1, 2, 3}, {2, 3, 4}][age_group(age)]


def function_4(salary, commission, age, elevel, car, zipcode, hvalue, hyears, loan):
    if age < 40:
        low, high = (25e3, 75e3) if elevel in {0, 1} else (50e3, 100e3)
    elif age < 60:
        low, high = (50e3, 100e3) if elevel in {1, 2, 3} else (75e3, 125e3)
    else:
        low, high = (50e3, 100e3) if elevel in {2, 3, 4} else (25e3, 75e3)
    return low <= salary <= high


def function_5(salary, commission, age, elevel, car, zipcode, hvalue, hyears, loan):
    if age < 40:
        low, high = (100e3, 300e3) if 50e3 <= salary <= 100e3 else (200e3, 400e3)
    elif age < 60:
        low, high = (200e3, 400e3) if 75e3 <= salary <= 125e3 else (300e3, 500e3)
    else:
        low, high = (300e3, 500e3) if 25e3 <= salary <= 75e3 else (100e3, 300e3)
    return low <= loan <= high


def function_6(salary, commission, age, elevel, car, zipcode, hvalue, hyears, loan):
    low, high = [(50e3, 100e3), (75e3, 125e3), (25e3, 75e3)][age_group(age)]
    return low <= salary + commission <= high


def function_7(salary, commission, age, elevel, car, zipcode, hvalue, hyears, loan):
    return 2 * (salary + commission) / 3 - loan / 5 - 20_000 > 0


def function_8(salary, commission, age, elevel, car, zipcode, hvalue, hyears, loan):
    return 2 * (salary + commission) / 3 - 5_000 * elevel - 20_000 > 0


def function_9(salary, commission, age, elevel, car, zipcode, hvalue, hyears, loan):
    return 2 * (salary + commission) / 3 - 5_000 * elevel - loan / 5 - 10_000 > 0


def function_10(salary, commission, age, elevel, car, zipcode, hvalue, hyears, loan):
    equity = hvalue * (hyears - 20) / 10 if hyears >= 20 else 0
    return 2 * (salary + commission) / 3 - 5_000 * elevel + equity / 5 - 10_000 > 0


AGRAWAL = {
    1: function_1,
    2: function_2,
    3: function_3,
    4: function_4,
    5: function_5,
    6: function_6,
    7: function_7,
    8: function_8,
    9: function_9,
    10: function_10,
}

SEGMENTS = {
    0: "1110111",
    1: "0010010",
    2: "1011101",
    3: "1011011",
    4: "0111010",
    5: "1101011",
    6: "1101111",
    7: "1010010",
    8: "1111111",
    9: "1111011",
}


def led(drift=0, seed=1, noise=10):
    """Yield rows (features, class) endlessly."""
    random = JavaRandom(seed)
    place = list(range(24))
    for i in range(drift):
        place[i], place[7 + i] = place[7 + i], place[i]
    while True:
        digit = random.integer(10)
        row = [0] * 24
        for i in range(7):
            bit = int(SEGMENTS[digit][i])
            row[place[i]] = 1 - bit if 1 + random.integer(100) <= noise else bit
        for i in range(7, 24):
            row[place[i]] = random.integer(2)
        yield row, digit


def random_rbf(classes=2, features=10, centroids=50, model_seed=1, instance_seed=1, drifting=50, speed=0.0):
    """Yield rows (features, class) endlessly."""
    model = JavaRandom(model_seed)
    centres, labels, deviations, weights = [], [], [], []
    for _ in range(centroids):
        centres.append([model.double() for _ in range(features)])
        labels.append(model.integer(classes))
        deviations.append(model.double())
        weights.append(model.double())
    model = JavaRandom(model_seed)
    directions = []
    for _ in range(min(drifting, centroids)):
        direction = [model.double() for _ in range(features)]
        norm = math.sqrt(sum(d * d for d in direction))
        directions.append([d / norm for d in direction])
    random = JavaRandom(instance_seed)
    while True:
        for centre, direction in zip(centres, directions, strict=False):
            for j in range(features):
                centre[j] += speed * direction[j]
                if centre[j] > 1 or centre[j] < 0:
                    centre[j] = 1.0 if centre[j] > 1 else 0.0
                    direction[j] = -direction[j]
        value = random.double() * sum(weights)
        i, total = 0, weights[0]
        while total <= value and i + 1 < centroids:
            i += 1
            total += weights[i]
        offset = [2 * random.double() - 1 for _ in range(features)]
        scale = random.gaussian() * deviations[i] / math.sqrt(sum(o * o for o in offset))
        yield [c + o * scale for c, o in zip(centres[i], offset, strict=True)], labels[i]


def drift(before, after, position, width=1, seed=1):
    """Yield rows from one iterator, then increasingly often from the other."""
    random = JavaRandom(seed)
    n = 0
    while True:
        n += 1
        x = -4 * (n - position) / width
        probability = 0.0 if x > 700 else 1 / (1 + math.exp(x))
        yield next(before) if random.double() > probability else next(after)
