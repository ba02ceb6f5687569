"""How exact a callable is: inputs, truth, errors by region, behaviour, and the certificate."""
